import { type AgentEvent, KernelError, type RunContext, stream, type Thread } from '@troupe/kernel'
import { safeReport } from '@troupe/kernel/kit'
import { type HostedRun, type RunHost, startRun } from '@troupe/kernel/run'
import { type LeasedRun, reopenThread } from './reopen-thread.ts'
import type { RunnerParts } from './runner-parts.ts'
import { runOnThread, type ThreadWork } from './thread-work.ts'

/**
 * Ends the run of a thread whose process died and that nobody continued: what it did enters the thread, and the calls that it
 * had begun have an unknown outcome.
 * Contract: does no step; a journal that cannot be read is reported and removed.
 */
export async function settleLost(
  parts: RunnerParts,
  { ref, unfinished = '' }: Pick<Thread, 'ref' | 'unfinished'>,
  token: number,
): Promise<Thread | undefined> {
  const { flow, store, clock, report, limits } = parts
  const host = new SettlingRun(parts, { ref, runId: unfinished, token })
  const settings = { runId: unfinished, session: ref, clock, canInterrupt: true, timeoutMs: limits.runMs }
  const run = startRun(flow, { messages: [] }, report ? { ...settings, report } : settings, host)
  // The run fails where its journal ends, or ends as it would have ended.
  const failure: unknown = await run.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (host.unreadable) {
    safeReport(report)(host.unreadable)
    return store.threads.commit(ref, { journal: null }, token)
  }
  const thread = await store.threads.get(ref)
  if (thread?.unfinished !== undefined) throw failure
  return thread
}

/** Hosts a run that goes as far as its journal, on the lease of another run. */
class SettlingRun implements RunHost {
  readonly #parts: RunnerParts
  readonly #run: LeasedRun
  #work: ThreadWork | undefined
  /** Why the journal cannot be read. */
  unreadable: KernelError | undefined

  constructor(parts: RunnerParts, run: LeasedRun) {
    this.#parts = parts
    this.#run = run
  }

  async open(): Promise<{ readonly state: ThreadWork['update']['state']; close(): Promise<void> }> {
    const { runId } = this.#run
    const atEnd = () => {
      throw new KernelError('OUTCOME_UNKNOWN', `run ${runId}: its process has died`)
    }
    try {
      this.#work = await reopenThread(this.#parts, { ...this.#run, atEnd })
    } catch (error) {
      if (KernelError.is(error, 'CHECKPOINT_INVALID')) this.unreadable = error
      throw error
    }
    return { state: this.#work.update.state, close: async () => undefined }
  }

  around(ctx: RunContext, run: HostedRun): AsyncIterable<AgentEvent> {
    return stream((sink) => runOnThread(this.#parts, this.#work as ThreadWork, ctx, run, sink, () => true))
  }
}
