import { type Clock, type Json, KernelError, type Store, type ThreadRef } from '@troupe/kernel'
import { abortScope, withinTime } from '@troupe/kernel/kit'
import type { AgUiEvent } from '../protocol.ts'
import { runError } from '../translate/run-error.ts'
import type { Executions } from './executions.ts'
import type { Logged, Tail } from './tail.ts'

/** The run to follow, and from where. */
interface Following {
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
}

/**
 * Follows a run from a position in its log, in whichever process it runs.
 * Contract: only logged events, without gap or duplicate; ends after the terminal, or quietly when the signal aborts.
 */
export async function* follow(options: Following): AsyncGenerator<readonly Logged[], void> {
  const { executions, ref, runId, signal } = options
  const log = executions.find(ref, runId)?.log
  let after = options.after
  while (log && !log.lost && !signal.aborted) {
    const { closed } = log.tail
    const some = log.tail.since(after)
    if (some === undefined) after = yield* catchUp(options, after, log.tail)
    else if (some.length > 0) {
      after = some.at(-1)?.seq ?? after
      yield some
    } else if (closed) return
    else await log.tail.changed(signal)
  }
  if (!signal.aborted) yield* followLog({ ...options, after })
}

/** Reads the log until its tail has the rest; returns the last sequence. */
async function* catchUp(
  { store, ref, runId, signal }: Following,
  from: number,
  tail: Tail,
): AsyncGenerator<readonly Logged[], number> {
  let after = from
  for await (const batch of store.runLog.follow(ref, runId, { after, live: false, signal })) {
    after = batch.at(-1)?.seq ?? after
    yield batch as unknown as readonly Logged[]
    if (tail.since(after)) break
  }
  return after
}

/** Follows a run of another process. Contract: if that process is gone, the log is closed with a RUN_ERROR. */
async function* followLog(options: Following): AsyncGenerator<readonly Logged[], void> {
  const { store, clock, ref, runId, signal, lookMs } = options
  using scope = abortScope(signal)
  const batches = store.runLog
    .follow(ref, runId, { after: options.after, signal: scope.signal })
    [Symbol.asyncIterator]()
  let after = options.after
  let next = batches.next()
  let suspected = false
  try {
    for (;;) {
      const result = await withinTime(clock, lookMs, next, () => undefined)
      if (result === undefined) {
        if (await isHeld(store, ref, runId)) suspected = false
        else if (suspected) await closeLost(store, ref, runId, after)
        else suspected = true
        continue
      }
      if (result.done) return
      suspected = false
      after = result.value.at(-1)?.seq ?? after
      yield result.value as unknown as readonly Logged[]
      next = batches.next()
    }
  } finally {
    next.catch(() => undefined)
    scope.abort(new KernelError('ABORTED', 'follow: the reader has left'))
  }
}

async function isHeld({ threads }: Pick<Store, 'threads'>, ref: ThreadRef, runId: string): Promise<boolean> {
  return (await threads.get(ref))?.runId === runId
}

/** Closes the log of a run whose process is gone; a second follower finds it closed. */
async function closeLost({ runLog }: Pick<Store, 'runLog'>, ref: ThreadRef, runId: string, after: number) {
  const terminal: AgUiEvent = runError(new KernelError('RUN_LOST', 'The server of this run is gone.'))
  const close = async (last: number) => {
    try {
      await runLog.append(ref, runId, last, [terminal as unknown as Json], true)
      return true
    } catch (error) {
      if (KernelError.is(error, 'VERSION_CONFLICT') || KernelError.is(error, 'NOT_FOUND')) return false
      throw error
    }
  }
  if (await close(after)) return
  const last = await lastOf(runLog, ref, runId)
  // A reader that claims to have seen more than the log holds would wait for ever.
  if (last < after) await close(last)
}

async function lastOf(runLog: Store['runLog'], ref: ThreadRef, runId: string): Promise<number> {
  const { signal } = new AbortController()
  let last = 0
  for await (const batch of runLog.follow(ref, runId, { after: 0, live: false, signal }))
    last = batch.at(-1)?.seq ?? last
  return last
}
