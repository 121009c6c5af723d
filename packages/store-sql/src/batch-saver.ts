import type { ModelCallRecord, ToolCallRecord } from '@troupe/kernel'
import { jsonText, usageOf } from '@troupe/kernel/store'
import type { Batch, RunState } from './apply-commands.ts'
import { fromColumn, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { ThreadCounters } from './rows.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'

type Save = (tx: Queries, thread: ThreadCounters, batch: Batch) => Promise<void>
type RunEntry = readonly [runId: string, run: RunState]
type RunColumns = Pick<Tables['troupe_runs'], 'status' | 'attempt' | 'text_length' | 'usage' | 'error' | 'ended_at'>
type ModelCallRow = Omit<Tables['troupe_usage'], 'id'>

/** What a batch writes. */
export interface BatchRows {
  readonly runs: readonly Tables['troupe_runs'][]
  readonly changed: readonly (RunColumns & Pick<Tables['troupe_runs'], 'seq'>)[]
  readonly texts: readonly Tables['troupe_run_texts'][]
  readonly calls: readonly Tables['troupe_tool_calls'][]
  readonly usage: readonly ModelCallRow[]
}

/** Writes the rows of a batch, and the counters of its thread if they have changed. */
export type WriteBatch = (
  tx: Queries,
  thread: number,
  rows: BatchRows,
  counters: { readonly run_seq: number; readonly call_seq: number } | undefined,
) => Promise<void>

/** Makes the function that writes what commands have changed, in few statements. */
export function batchSaver(who: string, writeAtOnce?: WriteBatch): Save {
  const inSteps = batchInSteps()
  return async (tx, thread, batch) => {
    const { id, run_seq, call_seq } = thread
    const runs = [...batch.runs]
    for (const [, run] of runs) if (isChanged(run) && run.keep < run.stored) await cutText(tx, id, run.seq, run.keep)
    const counted = batch.runSeq !== run_seq || batch.callSeq !== call_seq
    const rows = rowsOf(who, thread, batch, runs)
    const write = writeAtOnce && fitsAtOnce(rows) ? writeAtOnce : inSteps
    await write(tx, id, rows, counted ? { run_seq: batch.runSeq, call_seq: batch.callSeq } : undefined)
  }
}

/** Rows with more characters are written table by table: all of a statement must fit into one text. */
const MOST_CHARS = 2 ** 24

/** Whether the rows of a batch fit into one statement. */
function fitsAtOnce({ texts, calls }: BatchRows): boolean {
  let chars = 0
  for (const { text } of texts) chars += text.length
  for (const { arguments: given, result } of calls) chars += given.length + (result?.length ?? 0)
  return chars <= MOST_CHARS
}

function rowsOf(who: string, { id, owner }: ThreadCounters, batch: Batch, runs: readonly RunEntry[]): BatchRows {
  return {
    runs: runs.flatMap(([runId, run]) => (run.start ? newRunRow(who, id, owner, runId, run, run.start) : [])),
    changed: runs.flatMap(([, run]) => (isChanged(run) ? { seq: run.seq, ...runColumns(who, run) } : [])),
    texts: runs.flatMap((entry) => textRows(id, entry)),
    calls: [...batch.calls.values()].flatMap(({ seq, call }) => (call ? callRow(who, id, seq, call) : [])),
    usage: [...batch.usage.values()].map((call) => modelCallRow(id, call)),
  }
}

/** Whether a run that is stored changes. */
function isChanged({ start, changed }: RunState): boolean {
  return !start && changed === true
}

/** Writes the rows of a batch table by table. */
function batchInSteps(): WriteBatch {
  const addRuns = compiled((db, rows: Slots<readonly Tables['troupe_runs'][]>) =>
    db.insertInto('troupe_runs').values(rows),
  )
  const changeRun = compiled((db, { thread, seq, ...changed }: Slots<RunColumns & { thread: number; seq: number }>) =>
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
          attempts: ref('excluded.attempts'),
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
  return async (tx, id, { runs, changed, texts, calls, usage }, counters) => {
    for (const rows of statements(runs)) await addRuns(tx, rows)
    for (const row of changed) await changeRun(tx, { thread: id, ...row })
    for (const rows of statements(texts)) await addTexts(tx, rows)
    for (const rows of statements(calls)) await putCalls(tx, rows)
    for (const rows of statements(usage)) await addUsage(tx, rows)
    if (counters) await count(tx, { id, ...counters })
  }
}

function newRunRow(
  who: string,
  thread: number,
  owner: number,
  runId: string,
  run: RunState,
  { parentRunId, agentName, startedAt }: NonNullable<RunState['start']>,
): Tables['troupe_runs'] {
  return {
    thread,
    seq: run.seq,
    owner,
    run_id: toColumn(runId),
    parent_run_id: parentRunId === undefined ? null : toColumn(parentRunId),
    agent_name: toColumn(agentName),
    started_at: startedAt,
    ...runColumns(who, run),
  }
}

/** The columns of a run that change. */
function runColumns(who: string, { status, attempt, keep, tail, finish }: RunState): RunColumns {
  return {
    status,
    attempt,
    text_length: keep + tail.length,
    usage: finish?.usage ? JSON.stringify(usageOf(finish.usage)) : null,
    error: finish?.error ? jsonText(who, 'an error', finish.error) : null,
    ended_at: finish?.endedAt ?? null,
  }
}

function textRows(thread: number, [, { seq, keep, tail }]: RunEntry): Tables['troupe_run_texts'][] {
  return tail === '' ? [] : [{ thread, run_seq: seq, start: keep, text: toColumn(tail) }]
}

/** Forgets the stored text of a run from `keep` on. */
async function cutText(tx: Queries, thread: number, run_seq: number, keep: number): Promise<void> {
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
    result: call.result === undefined ? null : jsonText(who, 'a result', call.result),
    attempts: call.attempts ?? null,
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
    cache_write_tokens: usage.cacheWriteTokens ?? null,
    cost: usage.cost ?? null,
    finish_reason: finishReason === undefined ? null : toColumn(finishReason),
    message_id: messageId === undefined ? null : toColumn(messageId),
    request_id: requestId === undefined ? null : toColumn(requestId),
  }
}
