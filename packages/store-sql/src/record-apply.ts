import type { ModelCallRecord, RecordCommand, RecordStore, ToolCallRecord } from '@troupe/kernel'
import type { Transaction } from 'kysely'
import { checkCommand, checkRef, subjectOf, type ThreadKey } from './checks.ts'
import { compiled, type Slots } from './compiled.ts'
import { type Batch, playCommands, type RunState } from './record-batch.ts'
import { locked, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { type Session, statements } from './session.ts'
import { fromColumn, toColumn, toJson } from './text.ts'

type Tx = Transaction<Tables>
type ThreadRow = Pick<Tables['troupe_threads'], 'owner' | 'run_seq' | 'call_seq'> & { readonly id: number }
type Ending = Pick<Tables['troupe_runs'], 'status' | 'text_length' | 'usage' | 'error' | 'ended_at'>
type ModelCallRow = Omit<Tables['troupe_usage'], 'id'>

/** Writes record commands. */
export function recordApply({ who, engine, write }: Session): RecordStore['apply'] {
  const lockThread = compiled((db, key: Slots<ThreadKey>) =>
    locked(engine, threadOf(db, key).select(['t.id', 't.owner', 't.run_seq', 't.call_seq'])),
  )
  const [load, save] = [batchLoader(), batchSaver(who)]
  return async (ref, commands) => {
    const key = checkRef(who, ref)
    for (const command of commands) checkCommand(who, command)
    if (commands.length === 0) return []
    return write(async (tx) => {
      const [thread] = await lockThread(tx, key)
      if (!thread) return commands.map((command) => ({ runId: subjectOf(command), refused: true }))
      const batch = await load(tx, thread, commands)
      const results = playCommands(batch, commands)
      await save(tx, thread, batch)
      return results
    })
  }
}

/** Reads what commands are about. */
function batchLoader() {
  const findRuns = compiled((db, { owner, ids }: Slots<{ owner: number; ids: readonly string[] }>) =>
    db
      .selectFrom('troupe_runs')
      .select(['thread', 'run_id', 'seq', 'status', 'text_length'])
      .where('owner', '=', owner)
      .where('run_id', 'in', ids),
  )
  const findCalls = compiled((db, { thread, ids }: Slots<{ thread: number; ids: readonly string[] }>) =>
    db
      .selectFrom('troupe_tool_calls')
      .select(['call_id', 'run_id', 'seq', 'status'])
      .where('thread', '=', thread)
      .where('call_id', 'in', ids),
  )
  return async (tx: Tx, { id, owner, run_seq, call_seq }: ThreadRow, commands: readonly RecordCommand[]) => {
    const batch: Batch = { runSeq: run_seq, callSeq: call_seq, runs: new Map(), calls: new Map(), usage: new Map() }
    for (const ids of statements([...new Set(commands.map((command) => toColumn(subjectOf(command))))])) {
      for (const { thread, run_id, seq, status, text_length } of await findRuns(tx, { owner, ids })) {
        const foreign = thread !== id
        batch.runs.set(fromColumn(run_id), { seq, status, foreign, stored: text_length, keep: text_length, tail: '' })
      }
    }
    const callIds = commands.flatMap((command) => (command.type === 'tool-call' ? [toColumn(command.call.callId)] : []))
    for (const ids of statements([...new Set(callIds)])) {
      for (const { call_id, run_id, seq, status } of await findCalls(tx, { thread: id, ids })) {
        batch.calls.set(fromColumn(call_id), { seq, runId: fromColumn(run_id), status })
      }
    }
    return batch
  }
}

/** Writes what commands have changed, in few statements. */
function batchSaver(who: string) {
  const addRuns = compiled((db, rows: Slots<readonly Tables['troupe_runs'][]>) =>
    db.insertInto('troupe_runs').values(rows),
  )
  const changeRun = compiled((db, { thread, seq, ...changed }: Slots<Ending & { thread: number; seq: number }>) =>
    db.updateTable('troupe_runs').set(changed).where('thread', '=', thread).where('seq', '=', seq),
  )
  const addTexts = compiled((db, rows: Slots<readonly Tables['troupe_run_texts'][]>) =>
    db.insertInto('troupe_run_texts').values(rows),
  )
  const putCalls = compiled((db, rows: Slots<readonly Tables['troupe_tool_calls'][]>) =>
    db
      .insertInto('troupe_tool_calls')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['thread', 'call_id']).doUpdateSet(({ ref }) => ({
          run_id: ref('excluded.run_id'),
          message_id: ref('excluded.message_id'),
          name: ref('excluded.name'),
          arguments: ref('excluded.arguments'),
          status: ref('excluded.status'),
          result: ref('excluded.result'),
          started_at: ref('excluded.started_at'),
          ended_at: ref('excluded.ended_at'),
        })),
      ),
  )
  const addUsage = compiled((db, rows: Slots<readonly ModelCallRow[]>) =>
    db
      .insertInto('troupe_usage')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['thread', 'span_id']).doNothing()),
  )
  const count = compiled((db, { id, ...counters }: Slots<{ id: number; run_seq: number; call_seq: number }>) =>
    db.updateTable('troupe_threads').set(counters).where('id', '=', id),
  )

  return async (tx: Tx, { id, owner, run_seq, call_seq }: ThreadRow, batch: Batch): Promise<void> => {
    const runs = [...batch.runs]
    const fresh = runs.flatMap(([runId, { start, ...run }]) => {
      if (!start) return []
      const { parentRunId, agentName, startedAt } = start
      return {
        thread: id,
        seq: run.seq,
        owner,
        run_id: toColumn(runId),
        parent_run_id: parentRunId === undefined ? null : toColumn(parentRunId),
        agent_name: toColumn(agentName),
        started_at: startedAt,
        ...ending(who, run),
      }
    })
    for (const rows of statements(fresh)) await addRuns(tx, rows)
    for (const [, { start, changed, seq, ...run }] of runs) {
      if (start || !changed) continue
      await changeRun(tx, { thread: id, seq, ...ending(who, run) })
      if (run.keep < run.stored) await cutText(tx, id, seq, run.keep)
    }
    const texts = runs.flatMap(([, { seq: run_seq, keep: start, tail }]) =>
      tail === '' ? [] : { thread: id, run_seq, start, text: toColumn(tail) },
    )
    for (const rows of statements(texts)) await addTexts(tx, rows)
    const calls = [...batch.calls.values()].flatMap(({ seq, call }) => (call ? callRow(who, id, seq, call) : []))
    for (const rows of statements(calls)) await putCalls(tx, rows)
    const usage = [...batch.usage.values()].map((call) => modelCallRow(id, call))
    for (const rows of statements(usage)) await addUsage(tx, rows)
    if (batch.runSeq === run_seq && batch.callSeq === call_seq) return
    await count(tx, { id, run_seq: batch.runSeq, call_seq: batch.callSeq })
  }
}

/** The columns of a run that change. */
function ending(who: string, { status, keep, tail, finish }: Omit<RunState, 'seq' | 'foreign' | 'stored'>): Ending {
  return {
    status,
    text_length: keep + tail.length,
    usage: finish?.usage ? toJson(finish.usage, who, 'usage') : null,
    error: finish?.error ? toJson(finish.error, who, 'an error') : null,
    ended_at: finish?.endedAt ?? null,
  }
}

/** Forgets the stored text of a run from `keep` on. */
async function cutText(tx: Tx, thread: number, run_seq: number, keep: number): Promise<void> {
  await tx
    .deleteFrom('troupe_run_texts')
    .where('thread', '=', thread)
    .where('run_seq', '=', run_seq)
    .where('start', '>=', keep)
    .execute()
  const last = await tx
    .selectFrom('troupe_run_texts')
    .select(['start', 'text'])
    .where('thread', '=', thread)
    .where('run_seq', '=', run_seq)
    .orderBy('start', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (!last) return
  await tx
    .updateTable('troupe_run_texts')
    .set({ text: toColumn(fromColumn(last.text).slice(0, keep - last.start)) })
    .where('thread', '=', thread)
    .where('run_seq', '=', run_seq)
    .where('start', '=', last.start)
    .execute()
}

function callRow(who: string, thread: number, seq: number, call: ToolCallRecord): Tables['troupe_tool_calls'] {
  return {
    thread,
    seq,
    call_id: toColumn(call.callId),
    run_id: toColumn(call.runId),
    message_id: toColumn(call.messageId),
    name: toColumn(call.name),
    arguments: toColumn(call.arguments),
    status: call.status,
    result: call.result === undefined ? null : toJson(call.result, who, 'a result'),
    started_at: call.startedAt,
    ended_at: call.endedAt ?? null,
  }
}

function modelCallRow(thread: number, call: ModelCallRecord): ModelCallRow {
  const { usage, finishReason, messageId, requestId } = call
  return {
    thread,
    span_id: toColumn(call.spanId),
    run_id: toColumn(call.runId),
    model: toColumn(call.model),
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens ?? null,
    cached_input_tokens: usage.cachedInputTokens ?? null,
    finish_reason: finishReason ?? null,
    message_id: messageId === undefined ? null : toColumn(messageId),
    request_id: requestId === undefined ? null : toColumn(requestId),
  }
}
