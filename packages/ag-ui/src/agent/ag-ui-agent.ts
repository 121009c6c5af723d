import { type PipeStream, stream, type ThreadRef } from '@troupe/kernel'
import type { AgUiEvent, RunAgentInput } from '../protocol.ts'
import { Executions } from '../run/executions.ts'
import type { AgUiContinueOptions, AgUiRunOptions } from '../run/served-agent.ts'
import type { SessionManager } from '../session/session-manager.ts'
import { isHold } from '../session/thread-holds.ts'
import { type ClientView, clientView } from '../translate/client-view.ts'
import { AgentRun } from './agent-run.ts'
import { type AgentSettings, type AgUiAgentOptions, agentSettings } from './agent-settings.ts'
import { ContinuedRun } from './continued-run.ts'

/**
 * Runs agents as AG-UI agents, without HTTP: for tests and for embedding.
 * @example
 * const agUiAgent = new AgUiAgent({ runner: runner({ agent, store }), store, userId: 'ann' })
 * for await (const event of agUiAgent.run(input)) console.log(event.type)
 */
export class AgUiAgent {
  readonly sessions: SessionManager
  /** The runs of this agent in this process. */
  readonly executions: Executions
  readonly #settings: AgentSettings

  constructor(options: AgUiAgentOptions) {
    this.#settings = agentSettings(options)
    const { sessions, clock, maxConcurrentExecutions, maxExecutionsPerUser, executionTimeoutMs } = this.#settings
    this.sessions = sessions
    this.executions = new Executions(clock, maxConcurrentExecutions, executionTimeoutMs, maxExecutionsPerUser)
  }

  /** Whether clients neither see nor set a key of the state. */
  hidden(key: string): boolean {
    return this.#settings.hidden(key)
  }

  /** How the client of a request sees its thread. */
  view(input: RunAgentInput): ClientView {
    return clientView(this.#settings, input)
  }

  /** The number of active runs in this process. */
  get activeExecutions(): number {
    return this.executions.size
  }

  /**
   * Serves one request.
   * Contract: yields canonical events, RUN_STARTED or RUN_ERROR first, exactly one terminal last, whatever happens; never throws; starts when it is read, and can be read once; leaving cancels the run.
   */
  run(input: unknown, options: AgUiRunOptions = {}): PipeStream<AgUiEvent> {
    const run = new AgentRun(this.#settings, this.executions, input, options)
    return stream<AgUiEvent>((sink) => run.produce(sink), { onLeave: () => run.leave(), gate: () => true })
  }

  /**
   * Goes on with the run of a thread whose process is gone.
   * Contract: yields its events from the beginning, or those that `seen` does not have; a single RUN_ERROR if there is no such run (`NOT_FOUND`) or it is still under way (`THREAD_BUSY`); otherwise as `run`.
   */
  continue(ref: ThreadRef, options: AgUiContinueOptions = {}): PipeStream<AgUiEvent> {
    const run = new ContinuedRun(this.#settings, this.executions, ref, options)
    return stream<AgUiEvent>((sink) => run.produce(sink), { onLeave: () => run.leave(), gate: () => true })
  }

  /** How far a run has come that workers carry out. Contract: undefined for any other run. */
  async progress(ref: ThreadRef, runId: string): Promise<number | undefined> {
    return this.#settings.runner?.progress?.(ref, runId)
  }

  /** Cancels the run of a thread. Contract: works from any process; with `runId` a late request does not cancel the next run; false if nothing runs there. */
  async cancel(ref: ThreadRef, runId?: string): Promise<boolean> {
    const local = this.executions.find(ref, runId)
    if (local) {
      local.stop()
      return true
    }
    const { runner, store } = this.#settings
    if (isHold((await store.threads.get(ref))?.runId)) return false
    const request = { mode: 'now', ...(runId !== undefined && { runId }) } as const
    return runner ? runner.cancel(ref, request) : store.leases.requestCancel(ref, request)
  }
}
