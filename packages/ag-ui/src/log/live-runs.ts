import { EventType, omitOptionalNulls, type RunErrorEvent } from '@ag-ui/core'
import { type Clock, KernelError, type Owner, type Store, type ThreadRef } from '@troupe/kernel'
import { upgradeMessage } from '../input/legacy-parts.ts'
import type { AgUiEvent, RunAgentInput } from '../protocol.ts'
import { threadKey } from '../session/thread-key.ts'
import { publicError, runError } from '../translate/run-error.ts'
import { LiveRun } from './live-run.ts'
import type { ServedAgent } from './served-agent.ts'

/** The parts that runs are made from. */
export interface LiveRunsOptions {
  readonly agent: ServedAgent
  readonly store: Pick<Store, 'threads' | 'runLog'>
  readonly clock: Clock
  readonly report: (error: KernelError) => void
}

/** How long a new message waits for a cancelled run of its thread, and a cancel request for the run to end. */
const ENDING_MS = 2_000

/** The runs of this process. Contract: one pump for each; nothing is kept of a run that has ended. */
export class LiveRuns {
  readonly #options: LiveRunsOptions
  readonly #runs: Map<string, LiveRun> = new Map()
  /** By thread key: the run that holds the thread. */
  readonly #threads: Map<string, LiveRun> = new Map()
  /** Runs that have not had their first event yet. */
  readonly #starting: Set<Promise<unknown>> = new Set()
  #stopping = false
  /** The reason to cancel every run, including those that are still starting. */
  #reason: KernelError | undefined

  constructor(options: LiveRunsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#runs.size
  }

  get stopping(): boolean {
    return this.#stopping
  }

  get(ref: ThreadRef, runId: string): LiveRun | undefined {
    return this.#runs.get(threadKey(ref, runId))
  }

  /** Starts a run. Contract: resolves when its first event is logged, or with the RUN_ERROR of a run that never began; never rejects. */
  async start(input: RunAgentInput, owner: Owner, requestId: string): Promise<LiveRun | RunErrorEvent> {
    const starting = this.#start(input, owner, requestId)
    this.#starting.add(starting)
    const run = await starting
    this.#starting.delete(starting)
    return run
  }

  async #start(input: RunAgentInput, owner: Owner, requestId: string): Promise<LiveRun | RunErrorEvent> {
    const { agent, store, clock, report } = this.#options
    await this.#settled(input, owner)
    const controller = new AbortController()
    const { signal } = controller
    // The input is not validated yet; the agent does that before its run begins.
    const { threadId = '', runId = '' } = (input ?? {}) as Partial<RunAgentInput>
    const ref = { ...owner, threadId }
    const open = () => store.threads.open(ref)
    const run = new LiveRun({ ref, runId, requestId, log: store.runLog, clock, controller, report, open })
    try {
      const events = agent.run(input, { signal, owner, requestId })
      const refusal = await run.begin(events, (event) => withInput(event, input))
      if (refusal) return refusal
    } catch (error) {
      // Another run with this id has a log.
      if (KernelError.is(error, 'VERSION_CONFLICT'))
        return runError(publicError({ code: 'RUN_ID_TAKEN' }), { requestId })
      const failed = run.lost ? new KernelError('RUN_LOG_FAILED', UNLOGGED, { cause: error }) : KernelError.from(error)
      report(failed)
      return runError(run.lost ? failed : publicError(failed), { requestId })
    }
    this.#keep(run)
    if (this.#reason) run.cancel(this.#reason)
    return run
  }

  /** Contract: undefined if nothing of this id runs anywhere; true if it has ended when this returns. */
  async cancel(ref: ThreadRef, runId: string): Promise<boolean | undefined> {
    const run = this.get(ref, runId)
    if (run) {
      run.cancel()
      return this.within(ENDING_MS, run.ended)
    }
    return (await this.#options.agent.cancel(ref, runId)) ? false : undefined
  }

  /** Refuses new runs, waits `graceMs` for active runs to end, then cancels them. Contract: resolves when all have ended. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    const all = Promise.all(this.#starting).then(() => Promise.all([...this.#runs.values()].map(({ ended }) => ended)))
    if (await this.within(graceMs, all)) return
    const reason = new KernelError('ABORTED', 'server: stopped')
    this.#reason = reason
    for (const run of this.#runs.values()) run.cancel(reason)
    await this.within(ENDING_MS * 5, all)
  }

  /** Whether a promise settles in time. */
  within(ms: number, promise: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve) => {
      const giveUp = this.#options.clock.after(ms, () => resolve(false))
      const settle = () => {
        giveUp()
        resolve(true)
      }
      promise.then(settle, settle)
    })
  }

  /** Waits for a cancelled run of the thread, so that a message sent right after a stop is not refused. The input is not validated yet. */
  async #settled(input: Partial<RunAgentInput> | null, owner: Owner): Promise<void> {
    const threadId: unknown = input?.threadId
    const before = typeof threadId === 'string' ? this.#threads.get(threadKey({ ...owner, threadId })) : undefined
    if (before?.cancelling) await this.within(ENDING_MS, before.ended)
  }

  #keep(run: LiveRun): void {
    const key = threadKey(run.ref, run.runId)
    const thread = threadKey(run.ref)
    this.#runs.set(key, run)
    this.#threads.set(thread, run)
    run.ended.then(() => {
      if (this.#runs.get(key) === run) this.#runs.delete(key)
      if (this.#threads.get(thread) === run) this.#threads.delete(thread)
    })
  }
}

const UNLOGGED = 'The run was not started because its events could not be stored.'

/** Adds the new user messages to RUN_STARTED for readers who join later, because they are not stored before the run ends. */
function withInput(event: AgUiEvent, { threadId, runId, messages }: RunAgentInput): AgUiEvent {
  if (event.type !== EventType.RUN_STARTED || event.input !== undefined) return event
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const added = messages.slice(last + 1).filter(({ role }) => role === 'user' || role === 'tool')
  const input = { threadId, runId, messages: added.map(upgradeMessage), tools: [], context: [] }
  // In the form of the current protocol, also if an older client sent it.
  return { ...event, input: omitOptionalNulls(input, 'RunAgentInput') as RunAgentInput }
}
