import {
  type Clock,
  KernelError,
  type RecordCommand,
  type RunRecord,
  type Store,
  type Thread,
  type ThreadRef,
  type ToolCallRecord,
} from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { checkOption, checkOptionNames, systemClock } from '@troupe/kernel/kit'

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
}

const GRACE_MS = 60_000
/** The largest page of a store. */
const LARGEST_PAGE = 1_000
const PARKED: readonly string[] = ['awaiting', 'interrupted'] satisfies ToolCallRecord['status'][]

/**
 * Ends the records that a crash left open: runs as failed with `OUTCOME_UNKNOWN`, their running calls as unknown.
 * Contract: safe to run twice, and by several processes at once; runs whose lease is alive are left alone.
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
  const seen = new Set<string>()
  const sum = { runs: 0, calls: 0, alive: 0 }
  for (;;) {
    // The store returns the oldest first; active runs come before the next ones.
    const limit = Math.min(LARGEST_PAGE, pageSize + seen.size)
    const page = await store.records.open({ before, limit })
    const next = page.filter(({ ref, runId }) => !seen.has(keyOf(ref, runId)))
    for (const run of next) {
      if (await isAlive(store, run)) {
        seen.add(keyOf(run.ref, run.runId))
        sum.alive++
        continue
      }
      const calls = await unknownCalls(store, run.ref, run.runId, isRunning, clock.now())
      const results = await store.records.apply(run.ref, [...calls, finish(run, clock.now())])
      const taken = results.filter(({ refused }) => !refused).length
      if (results.at(-1)?.refused) seen.add(keyOf(run.ref, run.runId))
      else sum.runs++
      sum.calls += results.at(-1)?.refused ? taken : taken - 1
    }
    if (next.length === 0 || page.length < limit) break
  }
  for (const ref of threads) sum.calls += await sweep(store, ref, pageSize, before, clock)
  return sum
}

async function isAlive(
  { threads }: Pick<Store, 'threads'>,
  run: RunRecord & { readonly ref: ThreadRef },
): Promise<boolean> {
  const holder = (await threads.get(run.ref))?.runId
  if (holder === undefined) return false
  // The id of a nested run begins with the id of its parent run.
  return run.runId === holder || (run.parentRunId !== undefined && run.runId.startsWith(`${holder}/`))
}

async function unknownCalls(
  { records }: Pick<Store, 'records'>,
  ref: ThreadRef,
  runId: string,
  isLost: (call: ToolCallRecord) => boolean,
  endedAt: number,
): Promise<readonly RecordCommand[]> {
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
function waiting({ updatedAt, openCalls, checkpoint }: Thread, before: number): (callId: string) => boolean {
  if (updatedAt >= before) return () => true
  const asked = checkpoint?.interrupts.flatMap(({ callId }) => callId ?? []) ?? []
  const ids = [...openCalls.map(({ callId }) => callId), ...asked]
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
  let after: number | undefined
  for (;;) {
    const page = await store.records.runs(ref, { newestFirst: true, limit, ...(after !== undefined && { after }) })
    for (const { runId, status } of page) {
      if (status === 'generating') continue
      const commands = await unknownCalls(store, ref, runId, isLost, clock.now())
      if (commands.length === 0) continue
      const results = await store.records.apply(ref, commands)
      calls += results.filter(({ refused }) => !refused).length
    }
    const last = page.at(-1)
    if (!last || page.length < limit) return calls
    after = last.seq
  }
}

function keyOf({ app, user, threadId }: ThreadRef, runId: string): string {
  return `${app}\0${user}\0${threadId}\0${runId}`
}
