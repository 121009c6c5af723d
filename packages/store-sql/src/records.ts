import {
  type ModelCallRecord,
  NO_USAGE,
  type RecordCommand,
  type RecordStore,
  type RunRecord,
  type ToolCallRecord,
  type Usage,
} from '@troupe/kernel'
import { type Insertable, type Selectable, sql, type Transaction } from 'kysely'
import { checkCommand, checkId, checkMaintenance, checkPage, checkRef, subjectOf } from './checks.ts'
import { type Batch, playCommands, type RunState } from './record-batch.ts'
import { locked, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { type Queries, type Session, statements } from './session.ts'
import { fromColumn, fromJson, toColumn, toJson } from './text.ts'

/** Runs, tool calls and usage in SQL. */
export function sqlRecords({ who, engine, query, write }: Session): RecordStore {
  return {
    async apply(ref, commands) {
      const key = checkRef(who, ref)
      for (const command of commands) checkCommand(who, command)
      if (commands.length === 0) return []
      return write(async (tx) => {
        const thread = await locked(engine, threadOf(tx, key).selectAll('t')).executeTakeFirst()
        if (!thread) return commands.map((command) => ({ runId: subjectOf(command), refused: true }))
        const batch = await load(tx, thread, commands)
        const results = playCommands(batch, commands)
        await save(tx, who, thread, batch)
        return results
      })
    },

    async runs(ref, page) {
      const key = checkRef(who, ref)
      const { after, limit, newestFirst } = checkPage(who, page)
      return query(async (db) => {
        const rows = await threadOf(db, key)
          .innerJoin('troupe_runs as r', 'r.thread', 't.id')
          .where('r.seq', newestFirst ? '<' : '>', after)
          .selectAll('r')
          .orderBy('r.seq', newestFirst ? 'desc' : 'asc')
          .limit(limit)
          .execute()
        return withTexts(db, rows)
      })
    },

    async toolCalls(ref, runId) {
      const key = checkRef(who, ref)
      const run = checkId(who, 'runId', runId)
      const rows = await query((db) =>
        threadOf(db, key)
          .innerJoin('troupe_tool_calls as c', 'c.thread', 't.id')
          .where('c.run_id', '=', run)
          .selectAll('c')
          .orderBy('c.seq')
          .execute(),
      )
      return rows.map(callOf)
    },

    async modelCalls(ref, runId) {
      const key = checkRef(who, ref)
      const run = checkId(who, 'runId', runId)
      const rows = await query((db) =>
        threadOf(db, key)
          .innerJoin('troupe_usage as u', 'u.thread', 't.id')
          .where('u.run_id', '=', run)
          .selectAll('u')
          .orderBy('u.id')
          .execute(),
      )
      return rows.map(modelCallOf)
    },

    async usage(ref) {
      const key = checkRef(who, ref)
      const sums = await query((db) =>
        threadOf(db, key)
          .innerJoin('troupe_usage as u', 'u.thread', 't.id')
          .select(({ fn }) => [
            fn.sum<number | null>('u.input_tokens').as('input'),
            fn.sum<number | null>('u.output_tokens').as('output'),
            fn.sum<number | null>('u.reasoning_tokens').as('reasoning'),
            fn.sum<number | null>('u.cached_input_tokens').as('cached'),
          ])
          .executeTakeFirstOrThrow(),
      )
      const usage: Usage = {
        ...NO_USAGE,
        ...(sums.input !== null && { inputTokens: sums.input }),
        ...(sums.output !== null && { outputTokens: sums.output }),
        ...(sums.reasoning !== null && { reasoningTokens: sums.reasoning }),
        ...(sums.cached !== null && { cachedInputTokens: sums.cached }),
      }
      return usage
    },

    async open(wanted) {
      const { before, limit } = checkMaintenance(who, wanted)
      return query(async (db) => {
        const rows = await db
          .selectFrom('troupe_runs as r')
          .innerJoin('troupe_threads as t', 't.id', 'r.thread')
          .innerJoin('troupe_owners as o', 'o.id', 't.owner')
          // A literal, so that SQLite sees that the index of open runs fits.
          .where('r.status', '=', sql.lit('generating'))
          .where('r.started_at', '<', before)
          .selectAll('r')
          .select(['o.app', 'o.user_id', 't.thread_id'])
          .orderBy('r.started_at')
          .orderBy('r.thread')
          .orderBy('r.seq')
          .limit(limit)
          .execute()
        const runs = await withTexts(db, rows)
        return rows.map(({ app, user_id, thread_id }, i) => ({
          ...(runs[i] as RunRecord),
          ref: { app: fromColumn(app), user: fromColumn(user_id), threadId: fromColumn(thread_id) },
        }))
      })
    },
  }
}

type ThreadRow = Pick<Tables['troupe_threads'], 'owner' | 'run_seq' | 'call_seq'> & { readonly id: number }

/** Reads what the commands are about. */
async function load(
  tx: Transaction<Tables>,
  { id, owner, run_seq, call_seq }: ThreadRow,
  commands: readonly RecordCommand[],
): Promise<Batch> {
  const batch: Batch = { runSeq: run_seq, callSeq: call_seq, runs: new Map(), calls: new Map(), usage: new Map() }
  for (const some of statements([...new Set(commands.map((command) => toColumn(subjectOf(command))))])) {
    const rows = await tx
      .selectFrom('troupe_runs')
      .select(['thread', 'run_id', 'seq', 'status', 'text_length'])
      .where('owner', '=', owner)
      .where('run_id', 'in', some)
      .execute()
    for (const { thread, run_id, seq, status, text_length } of rows) {
      const foreign = thread !== id
      batch.runs.set(fromColumn(run_id), { seq, status, foreign, stored: text_length, keep: text_length, tail: '' })
    }
  }
  const callIds = commands.flatMap((command) => (command.type === 'tool-call' ? [toColumn(command.call.callId)] : []))
  for (const some of statements([...new Set(callIds)])) {
    const rows = await tx
      .selectFrom('troupe_tool_calls')
      .select(['call_id', 'seq', 'status'])
      .where('thread', '=', id)
      .where('call_id', 'in', some)
      .execute()
    for (const { call_id, seq, status } of rows) batch.calls.set(fromColumn(call_id), { seq, status })
  }
  return batch
}

/** Writes what the commands have changed, in few statements. */
async function save(tx: Transaction<Tables>, who: string, { id, owner }: ThreadRow, batch: Batch): Promise<void> {
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
  for (const rows of statements(fresh)) await tx.insertInto('troupe_runs').values(rows).execute()
  for (const [, { start, changed, seq, ...run }] of runs) {
    if (start || !changed) continue
    await tx.updateTable('troupe_runs').set(ending(who, run)).where('thread', '=', id).where('seq', '=', seq).execute()
    if (run.keep < run.stored) await cutText(tx, id, seq, run.keep)
  }
  const texts = runs.flatMap(([, { seq: run_seq, keep: start, tail }]) =>
    tail === '' ? [] : { thread: id, run_seq, start, text: toColumn(tail) },
  )
  for (const rows of statements(texts)) await tx.insertInto('troupe_run_texts').values(rows).execute()

  const calls = [...batch.calls.values()].flatMap(({ seq, call }) => (call ? callRow(who, id, seq, call) : []))
  for (const rows of statements(calls)) {
    await tx
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
      )
      .execute()
  }

  const usage = [...batch.usage.values()].map((call) => modelCallRow(id, call))
  for (const rows of statements(usage)) {
    await tx
      .insertInto('troupe_usage')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['thread', 'span_id']).doNothing())
      .execute()
  }

  const { runSeq: run_seq, callSeq: call_seq } = batch
  await tx.updateTable('troupe_threads').set({ run_seq, call_seq }).where('id', '=', id).execute()
}

/** The columns of a run that change. */
function ending(who: string, { status, keep, tail, finish }: Omit<RunState, 'seq' | 'foreign' | 'stored'>) {
  return {
    status,
    text_length: keep + tail.length,
    usage: finish?.usage ? toJson(finish.usage, who, 'usage') : null,
    error: finish?.error ? toJson(finish.error, who, 'an error') : null,
    ended_at: finish?.endedAt ?? null,
  }
}

/** Forgets the stored text of a run from `keep` on. */
async function cutText(tx: Transaction<Tables>, thread: number, run_seq: number, keep: number): Promise<void> {
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

function callOf(row: Tables['troupe_tool_calls']): ToolCallRecord {
  return {
    callId: fromColumn(row.call_id),
    runId: fromColumn(row.run_id),
    messageId: fromColumn(row.message_id),
    name: fromColumn(row.name),
    arguments: fromColumn(row.arguments),
    status: row.status,
    ...(row.result !== null && { result: fromJson(row.result) }),
    startedAt: row.started_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
  }
}

function modelCallRow(thread: number, call: ModelCallRecord): Insertable<Tables['troupe_usage']> {
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

function modelCallOf(row: Selectable<Tables['troupe_usage']>): ModelCallRecord {
  return {
    spanId: fromColumn(row.span_id),
    runId: fromColumn(row.run_id),
    model: fromColumn(row.model),
    usage: {
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      ...(row.reasoning_tokens !== null && { reasoningTokens: row.reasoning_tokens }),
      ...(row.cached_input_tokens !== null && { cachedInputTokens: row.cached_input_tokens }),
    },
    ...(row.finish_reason !== null && {
      finishReason: row.finish_reason as NonNullable<ModelCallRecord['finishReason']>,
    }),
    ...(row.message_id !== null && { messageId: fromColumn(row.message_id) }),
    ...(row.request_id !== null && { requestId: fromColumn(row.request_id) }),
  }
}

/** Runs with their texts. */
async function withTexts(db: Queries, rows: readonly Tables['troupe_runs'][]): Promise<RunRecord[]> {
  const texts = new Map<string, string>()
  const byThread = Map.groupBy(
    rows.filter(({ text_length }) => text_length > 0),
    ({ thread }) => thread,
  )
  for (const [thread, runs] of byThread) {
    for (const some of statements(runs.map(({ seq }) => seq))) {
      const pieces = await db
        .selectFrom('troupe_run_texts')
        .select(['run_seq', 'text'])
        .where('thread', '=', thread)
        .where('run_seq', 'in', some)
        .orderBy('run_seq')
        .orderBy('start')
        .execute()
      for (const { run_seq, text } of pieces) {
        const key = `${thread}/${run_seq}`
        texts.set(key, (texts.get(key) ?? '') + fromColumn(text))
      }
    }
  }
  return rows.map((row) => ({
    runId: fromColumn(row.run_id),
    ...(row.parent_run_id !== null && { parentRunId: fromColumn(row.parent_run_id) }),
    agentName: fromColumn(row.agent_name),
    seq: row.seq,
    status: row.status,
    text: texts.get(`${row.thread}/${row.seq}`) ?? '',
    ...(row.usage !== null && { usage: fromJson<Usage>(row.usage) }),
    ...(row.error !== null && { error: fromJson<NonNullable<RunRecord['error']>>(row.error) }),
    startedAt: row.started_at,
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
  }))
}
