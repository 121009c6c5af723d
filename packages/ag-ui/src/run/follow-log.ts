import { type Clock, KernelError, type Store, type ThreadRef } from '@troupe/kernel'
import { abortScope, withinTime } from '@troupe/kernel/kit'
import type { Logged } from '../log/logged.ts'
import { readRunLog } from '../log/read-run-log.ts'
import { type LostRuns, lostRunOf } from '../lost/lost-runs.ts'
import type { AgUiEvent } from '../protocol.ts'
import { runError } from '../translate/run-error.ts'
import { closeLost } from './close-lost.ts'
import type { Executions } from './executions.ts'
import type { ServedAgent } from './served-agent.ts'

/** The run to follow, and from where. */
export interface Following {
  readonly executions: Executions
  readonly store: Pick<Store, 'threads' | 'runLog'>
  readonly clock: Clock
  readonly ref: ThreadRef
  readonly runId: string
  /** The last sequence that the follower has. */
  readonly after: number
  readonly signal: AbortSignal
  /** After how long without an event it checks that a run of another process is still alive. */
  readonly lookMs: number
  /** What happens to the run if its process is gone. */
  readonly lostRuns: LostRuns
  readonly agent: Pick<ServedAgent, 'hidden' | 'view'>
  /** Goes on with the run in this process. Contract: gives false if that is not possible; called again after `lookMs` while nothing comes. */
  readonly proceed: () => Promise<boolean>
  /** How far the run has come, if workers carry it out. */
  readonly progress?: () => Promise<number | undefined>
  readonly report: (error: KernelError) => void
}

/** Follows a run of another process. Contract: if that process is gone, the run is continued, or the follower is told, or the log is closed with a RUN_ERROR. */
export async function* followLog(options: Following): AsyncGenerator<readonly Logged[], void> {
  // A run that broke off long ago is looked after at once.
  const found = options.lostRuns === 'leave' ? 'wait' : await look(options)
  yield* found === 'tell' ? toTheBreak(options) : followLive(options)
}

async function* followLive(options: Following): AsyncGenerator<readonly Logged[], void> {
  const { store, clock, ref, runId, signal, lookMs } = options
  using scope = abortScope(signal)
  const batches = readRunLog(store.runLog, ref, runId, { after: options.after, signal: scope.signal })
  let after = options.after
  let next = batches.next()
  let suspected = false
  let shown: number | undefined
  try {
    for (;;) {
      const result = await withinTime(clock, lookMs, next, () => undefined)
      if (result === undefined) {
        shown = await goOnBehind(options, shown)
        const found = await look(options)
        if (yield* endOf({ ...options, after }, found, suspected)) return
        suspected = found === 'suspect'
        continue
      }
      if (result.done) return
      suspected = false
      after = result.value.at(-1)?.seq ?? after
      yield result.value
      next = batches.next()
    }
  } finally {
    next.catch(() => undefined)
    scope.abort(new KernelError('ABORTED', 'follow: the reader has left'))
  }
}

/** Ends the following of a run that nobody carries out. Contract: gives whether the follower has its last event. */
async function* endOf(
  options: Following,
  found: Awaited<ReturnType<typeof look>>,
  suspected: boolean,
): AsyncGenerator<readonly Logged[], boolean> {
  if (found === 'tell') {
    yield* toTheBreak(options)
    return true
  }
  if (found === 'wait' || !suspected) return false
  const unstored = await closeLost(options)
  if (unstored) yield unstored.map((event) => ({ seq: options.after, event }))
  return unstored !== undefined
}

/** Goes on with a run that has shown more since the last look, while its log stood still: the process that wrote the log is gone, and workers carry the run out. Contract: gives how far it has come. */
async function goOnBehind(
  { progress, proceed, lostRuns }: Following,
  before: number | undefined,
): Promise<number | undefined> {
  const shown = lostRuns === 'leave' ? undefined : await progress?.()
  if (before !== undefined && shown !== undefined && shown > before) await proceed()
  return shown
}

/** Looks after a run that shows nothing. Contract: `suspect` twice in a row means that nobody will write to its log any more. */
async function look(options: Following): Promise<'wait' | 'tell' | 'suspect'> {
  const { store, ref, runId, lostRuns, proceed } = options
  const thread = await store.threads.get(ref)
  if (thread?.runId === runId) return 'wait'
  if (lostRuns === 'leave' || lostRunOf(thread) !== runId) return 'suspect'
  if (lostRuns === 'ask') return 'tell'
  return (await proceed()) ? 'wait' : 'suspect'
}

/** Tells a follower that the run can be continued. Contract: not in the log, because the run goes on there. */
const BROKE_OFF: AgUiEvent = runError(
  new KernelError('RUN_LOST', 'The server of this run is gone. The run can be continued.'),
  { retryable: true },
)

/** The log of a run that nobody carries out, then the reason for its end. */
async function* toTheBreak({ store, ref, runId, signal, after }: Following): AsyncGenerator<readonly Logged[], void> {
  let last = after
  for await (const batch of readRunLog(store.runLog, ref, runId, { after, live: false, signal })) {
    last = batch.at(-1)?.seq ?? last
    yield batch
  }
  if (!signal.aborted) yield [{ seq: last, event: BROKE_OFF }]
}
