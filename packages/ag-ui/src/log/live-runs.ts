import { EventType, omitOptionalNulls, type RunErrorEvent } from '@ag-ui/core'
import { type Clock, KernelError, type Owner, type Store, type ThreadRef } from '@troupe/kernel'
import { upgradeMessage } from '../input/legacy-parts.ts'
import type { AgUiEvent, RunAgentInput } from '../protocol.ts'
import { threadKey } from '../session/thread-key.ts'
import { publicError, runError } from '../translate/run-error.ts'
import { LiveRun } from './live-run.ts'
import type { ServedAgent } from './served-agent.ts'

/** What runs are made with. */
export interface LiveRunsOptions {
  readonly agent: ServedAgent
  readonly store: Pick<Store, 'threads' | 'runLog'>
  readonly clock: Clock
  readonly report: (error: KernelError) => void
}

/** How long a message waits for a run of its thread that was told to stop, and a cancel for the run to end. */
const ENDING_MS = 2_000

/** The runs of this process. Contract: one pump for each; nothing is kept of a run that has ended. */
export class LiveRuns {
  readonly #options: LiveRunsOptions
  readonly #runs: Map<string, LiveRun> = new Map()
  /** By thread: the run that holds it. */
  readonly #threads: Map<string, LiveRun> = new Map()
  /** Runs whose first event has not come yet. */
  readonly #starting: Set<Promise<unknown>> = new Set()
  #stopping = false
  /** Why every run is cancelled, those to come included. */
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

  /** Contract: gives the run when its first event is logged, or the RUN_ERROR of one that never began; throws nothing. */
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
    // What is looked at here is not checked; a run that begins was.
    const { threadId = '', runId = '' } = (input ?? {}) as Partial<RunAgentInput>
    const ref = { ...owner, threadId }
    const open = () => store.threads.open(ref)
    const run = new LiveRun({ ref, runId, requestId, log: store.runLog, clock, controller, report, open })
    try {
      const events = agent.run(input, { signal, owner, requestId })
      const refusal = await run.begin(events, (event) => withInput(event, input))
      if (refusal) return refusal
    } catch (error) {
      // The log of another run of this id.
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

  /** Takes no more runs, lets those under way end for `graceMs`, then cancels them. Contract: resolves when all have ended. */
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

  /** Who stops a run and sends at once means to be heard. The input is not checked yet. */
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

const UNLOGGED = 'The run was not begun because its events could not be stored.'

/** RUN_STARTED with what the user has just said, which is in no store before the run ends, for those who join later. */
function withInput(event: AgUiEvent, { threadId, runId, messages }: RunAgentInput): AgUiEvent {
  if (event.type !== EventType.RUN_STARTED || event.input !== undefined) return event
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const said = messages.slice(last + 1).filter(({ role }) => role === 'user' || role === 'tool')
  const input = { threadId, runId, messages: said.map(upgradeMessage), tools: [], context: [] }
  // As today's protocol has it, whatever generation of client it came from.
  return { ...event, input: omitOptionalNulls(input, 'RunAgentInput') as RunAgentInput }
}
