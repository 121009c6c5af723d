import {
  type Clock,
  checkOption,
  checkOptionNames,
  KernelError,
  type RecordCommand,
  type RunRecord,
  type Store,
  systemClock,
  type Thread,
  type ThreadRef,
  type ToolCallRecord,
} from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'

/** What `reconcile` works with. */
export interface ReconcileOptions {
  readonly store: Pick<Store, 'records' | 'threads'>
  /** Only runs that began before this moment. @default a minute ago, so that writes under way come first */
  readonly before?: number
  /** Threads whose ended runs are looked through too: for calls left running when another run took the thread over, and for parked ones that the thread does not wait for any more. */
  readonly threads?: readonly ThreadRef[]
  /** Runs read at once. @default 100 */
  readonly pageSize?: number
  /** @default the system's clock */
  readonly clock?: Pick<Clock, 'now'>
}

/** What `reconcile` has done. */
export interface Reconciled {
  /** Runs that it has ended. */
  readonly runs: number
  /** Calls that it has marked as unknown. */
  readonly calls: number
  /** Runs that go on: somebody holds their thread for them. */
  readonly alive: number
}

const GRACE_MS = 60_000
/** The most that a store gives at once. */
const LARGEST_PAGE = 1_000
const PARKED: readonly string[] = ['awaiting', 'interrupted'] satisfies ToolCallRecord['status'][]

/**
 * Ends what a crash has left open: runs as failed with `OUTCOME_UNKNOWN`, their running calls as unknown.
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
    'pageSize is a whole number from 1 on',
    pageSize,
  )
  const seen = new Set<string>()
  const sum = { runs: 0, calls: 0, alive: 0 }
  for (;;) {
    // The store gives the oldest first; those that go on stand in front of the next ones.
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
  // The id of a nested run begins with that of the run around it.
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
  const error = new KernelError('OUTCOME_UNKNOWN', `run ${runId}: it is not known how it ended`).toJSON()
  return { type: 'run-finish', runId, status: 'failed', error, endedAt }
}

function isRunning({ status }: ToolCallRecord): boolean {
  return status === 'running'
}

/** Whether a thread waits for a call, or for one inside it; of a thread that has just changed nobody can say yet. */
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
