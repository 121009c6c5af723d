import {
  type Clock,
  KernelError,
  type RecordCommand,
  type RunRecord,
  type Store,
  type Thread,
  type ThreadRef,
  type ToolCallRecord,
  type Usage,
} from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { addUsage, checkOption, checkOptionNames, NO_USAGE, pages, systemClock } from '@troupe/kernel/kit'
import { awaitedCalls } from './awaited-calls.ts'
import { type EndInThread, endInThread } from './end-in-thread.ts'
import { resultOf, safe } from './record/call-records.ts'
import { runKey } from './record/thread-key.ts'

/** The options of `reconcile`. */
export interface ReconcileOptions {
  readonly store: Pick<Store, 'records' | 'threads'>
  /** Only runs that began before this moment. @default a minute ago, so that writes under way come first */
  readonly before?: number
  /** Threads whose ended runs are checked too: for calls left running when another run took over the thread, and for waiting calls that the thread no longer waits for. */
  readonly threads?: readonly ThreadRef[]
  /** The number of runs per page. @default 100 */
  readonly pageSize?: number
  /** @default the system's clock */
  readonly clock?: Pick<Clock, 'now'>
}

/** The result of `reconcile`. */
export interface Reconciled {
  /** The number of runs that it ended. */
  readonly runs: number
  /** The number of calls that it marked as unknown. */
  readonly calls: number
  /** The number of runs that are still active: their thread has a live lease. */
  readonly alive: number
  /** The number of runs that can be continued: their process is gone, but their thread names them, or a run around them, as unfinished. */
  readonly lost: number
}

const GRACE_MS = 60_000
/** The largest page of a store. */
const LARGEST_PAGE = 1_000
const PARKED: readonly string[] = ['awaiting', 'interrupted'] satisfies ToolCallRecord['status'][]

/**
 * Ends the records that a crash left open: as the thread has the end of the run, else runs as failed with `OUTCOME_UNKNOWN` and their running calls as unknown.
 * Contract: safe to run twice, and by several processes at once; runs whose lease is alive, and lost runs that can be continued, are left alone.
 * @example await reconcile({ store }) // when a server starts, and now and then
 */
export async function reconcile(options: ReconcileOptions): Promise<Reconciled> {
  checkOptionNames('reconcile', options, { store: true, before: true, threads: true, pageSize: true, clock: true })
  const { store, clock = systemClock, pageSize = 100, threads = [] } = options
  const { before = clock.now() - GRACE_MS } = options
  checkOption(
    Number.isInteger(pageSize) && pageSize >= 1,
    'reconcile',
    'pageSize must be a whole number from 1 on',
    pageSize,
  )
  const ended = await endOpenRuns(store, before, pageSize, clock)
  let { calls } = ended
  for (const ref of threads) calls += await sweep(store, ref, pageSize, before, clock)
  return { ...ended, calls }
}

/** A run with its thread, as the store lists those that have not ended. */
type OpenRun = RunRecord & { readonly ref: ThreadRef }

async function endOpenRuns(
  store: Pick<Store, 'records' | 'threads'>,
  before: number,
  pageSize: number,
  clock: Pick<Clock, 'now'>,
): Promise<Reconciled> {
  const left = new Set<string>()
  const sum = { runs: 0, calls: 0, alive: 0, lost: 0 }
  for (;;) {
    // The store returns the oldest first; the runs that are left open come before the next ones.
    const limit = Math.min(LARGEST_PAGE, pageSize + left.size)
    const page = await store.records.open({ before, limit })
    const next = page.filter(({ ref, runId }) => !left.has(runKey(ref, runId)))
    for (const run of next) {
      const { runs, calls, alive, lost } = await endIfGone(store, run, clock)
      if (runs === 0) left.add(runKey(run.ref, run.runId))
      sum.runs += runs
      sum.calls += calls
      sum.alive += alive
      sum.lost += lost
    }
    if (next.length === 0 || page.length < limit) return sum
  }
}

async function endIfGone(
  store: Pick<Store, 'records' | 'threads'>,
  run: OpenRun,
  clock: Pick<Clock, 'now'>,
): Promise<Reconciled> {
  const thread = await store.threads.get(run.ref)
  const { runId: holder, unfinished } = thread ?? {}
  if (await isWithin(store, run, holder)) return { runs: 0, calls: 0, alive: 1, lost: 0 }
  if (await isWithin(store, run, unfinished)) return { runs: 0, calls: 0, alive: 0, lost: 1 }
  const end = await endInThread(store.threads, thread, run.runId)
  const lost = await unknownCalls(store, run.ref, run.runId, isRunning, clock.now())
  const commands = end ? lost.map((command) => answered(command, end)) : lost
  const ends = end ? await finishAs(store, run, end, clock.now()) : [finish(run, clock.now())]
  const results = await store.records.apply(run.ref, [...commands, ...ends])
  const calls = commands.filter(({ call }, i) => call.status === 'unknown' && !results[i]?.refused).length
  return { runs: results.at(-1)?.refused ? 0 : 1, calls, alive: 0, lost: 0 }
}

/** A call with the result that the thread has. */
function answered(command: CallCommand, { results }: EndInThread): CallCommand {
  const { call } = command
  const message = results.get(call.callId)
  if (!message || message.content === UNKNOWN_RESULT) return command
  const status = message.error ? 'failed' : 'complete'
  return { ...command, call: { ...call, status, result: safe(resultOf(message)) } }
}

/** Ends a run whose end is in its thread. */
async function finishAs(
  { records }: Pick<Store, 'records'>,
  { ref, runId, seq }: OpenRun,
  { outcome, text }: EndInThread,
  endedAt: number,
): Promise<readonly RecordCommand[]> {
  let usage: Usage = NO_USAGE
  for (const call of await records.modelCalls(ref, runId)) usage = addUsage(usage, call.usage)
  for await (const page of pages(100, (query) => records.runs(ref, { after: seq, ...query }))) {
    for (const run of page) if (run.parentRunId === runId && run.usage) usage = addUsage(usage, run.usage)
  }
  return [
    { type: 'run-text', runId, offset: 0, text },
    { type: 'run-finish', runId, status: outcome, usage, endedAt },
  ]
}

type CallCommand = Extract<RecordCommand, { readonly type: 'tool-call' }>

/** Returns whether a run, or a run around it, has this id. */
async function isWithin({ records }: Pick<Store, 'records'>, run: OpenRun, id: string | undefined): Promise<boolean> {
  if (id === undefined) return false
  for await (const runId of lineage(records, run)) if (runId === id) return true
  return false
}

/** Gives the ids of a run and of the runs around it, from the inside out. */
async function* lineage(
  records: Store['records'],
  { ref, runId, seq, parentRunId }: OpenRun,
): AsyncGenerator<string, undefined> {
  yield runId
  if (parentRunId === undefined) return
  yield parentRunId
  let parent = parentRunId
  // A run comes after the run around it, so one pass over the earlier runs, the latest first, finds them all.
  const earlier = pages(100, (page) => records.runs(ref, { after: seq, newestFirst: true, ...page }))
  for await (const page of earlier) {
    for (const row of page) {
      if (row.runId !== parent) continue
      if (row.parentRunId === undefined) return
      parent = row.parentRunId
      yield parent
    }
  }
}

async function unknownCalls(
  { records }: Pick<Store, 'records'>,
  ref: ThreadRef,
  runId: string,
  isLost: (call: ToolCallRecord) => boolean,
  endedAt: number,
): Promise<readonly CallCommand[]> {
  const lost = (await records.toolCalls(ref, runId)).filter(isLost)
  return lost.map((call) => ({
    type: 'tool-call',
    call: { ...call, status: 'unknown', result: { content: UNKNOWN_RESULT }, endedAt },
  }))
}

function finish({ runId }: RunRecord, endedAt: number): RecordCommand {
  const error = new KernelError('OUTCOME_UNKNOWN', `run ${runId}: its outcome is unknown`).toJSON()
  return { type: 'run-finish', runId, status: 'failed', error, endedAt }
}

function isRunning({ status }: ToolCallRecord): boolean {
  return status === 'running'
}

/** Makes the check whether a thread waits for a call or one nested in it; a thread that has just changed counts as waiting. */
function waiting(thread: Thread, before: number): (callId: string) => boolean {
  if (thread.updatedAt >= before) return () => true
  const ids = awaitedCalls(thread)
  // The id of a nested call begins with the id of the call around it.
  return (callId) => ids.some((id) => callId === id || callId.startsWith(`${id}/`))
}

async function sweep(
  store: Pick<Store, 'records' | 'threads'>,
  ref: ThreadRef,
  limit: number,
  before: number,
  clock: Pick<Clock, 'now'>,
): Promise<number> {
  const thread = await store.threads.get(ref)
  if (!thread) return 0
  const waitsFor = waiting(thread, before)
  const isLost = (call: ToolCallRecord) => isRunning(call) || (PARKED.includes(call.status) && !waitsFor(call.callId))
  let calls = 0
  for await (const page of pages(limit, (query) => store.records.runs(ref, { newestFirst: true, ...query }))) {
    for (const run of page) {
      if (run.status === 'generating') continue
      const commands = await unknownCalls(store, ref, run.runId, isLost, clock.now())
      if (commands.length === 0 || (await isWithin(store, { ...run, ref }, thread.unfinished))) continue
      const results = await store.records.apply(ref, commands)
      calls += results.filter(({ refused }) => !refused).length
    }
  }
  return calls
}
