import type { RunAgentInput } from '@ag-ui/core'
import {
  type Awaitable,
  type Clock,
  KernelError,
  type Owner,
  type PipeStream,
  type Runner,
  type RunOptions,
  type Store,
  type ThreadRef,
} from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, systemClock } from '@troupe/kernel/kit'
import { INPUT_LIMITS, type InputLimits } from '../input/parse-run-input.ts'
import type { ToolResultMode } from '../input/tool-result.ts'
import type { AgUiEvent } from '../protocol.ts'
import { isolated, type Report, reportToConsole } from '../report.ts'
import { SessionManager } from '../session/session-manager.ts'
import { isHold } from '../session/thread-hold.ts'
import { AgentRun } from './agent-run.ts'
import { Executions } from './execution-state.ts'
import { pullStream } from './pull-stream.ts'

/** The options of an `AgUiAgent`. */
export interface AgUiAgentOptions {
  /** Runs the agent; its store has to be `store`. */
  readonly runner?: Runner
  /** Instead of `runner`: picks one for each request. */
  readonly resolveRunner?: (input: RunAgentInput, owner: Owner) => Awaitable<Runner>
  readonly store: Pick<Store, 'threads' | 'leases'>
  /** Whose conversations these are. @default the name of the runner's agent */
  readonly appName?: string
  /** Instead of `appName`: by request. */
  readonly appNameExtractor?: (input: RunAgentInput) => Awaitable<string>
  /** The one user of an embedded agent. */
  readonly userId?: string
  /** Instead of `userId`: by request. */
  readonly userIdExtractor?: (input: RunAgentInput) => Awaitable<string>
  /** Settings of a run. @default none */
  readonly runConfigFactory?: (input: RunAgentInput) => Awaitable<RunOptions>
  /** How long a run may take. @default 600_000 */
  readonly executionTimeoutMs?: number
  /** How long a tool of the server may take before its run is stopped; a call of a client tool stays open as long as its session. @default 300_000 */
  readonly toolTimeoutMs?: number
  /** @default 10 */
  readonly maxConcurrentExecutions?: number
  /** How results of client tools are kept. @default 'text' */
  readonly toolResults?: ToolResultMode
  /** Whether user text is refused while calls or questions are open, or drops them. @default 'reject' */
  readonly pending?: 'reject' | 'drop'
  /** Selects state keys that clients neither see nor set. `temp:` keys are always hidden, but clients may set them. @default none */
  readonly hidden?: (key: string) => boolean
  readonly limits?: InputLimits
  /** @default one over `store` */
  readonly sessions?: SessionManager
  readonly clock?: Clock
  /** Receives errors whose text a client does not get. @default console.error */
  readonly report?: Report
}

/** The options of an AgUiAgent by name. */
export const AGENT_OPTIONS: OptionNames<AgUiAgentOptions> = {
  runner: true,
  resolveRunner: true,
  store: true,
  appName: true,
  appNameExtractor: true,
  userId: true,
  userIdExtractor: true,
  runConfigFactory: true,
  executionTimeoutMs: true,
  toolTimeoutMs: true,
  maxConcurrentExecutions: true,
  toolResults: true,
  pending: true,
  hidden: true,
  limits: true,
  sessions: true,
  clock: true,
  report: true,
}

/** The options of a single run. */
export interface AgUiRunOptions {
  /** Aborting cancels the run. */
  readonly signal?: AbortSignal
  /** The owner, if the caller knows it; otherwise it is taken from the agent's options. */
  readonly owner?: Owner
  /** Sent with an error, so that the operator can find it. */
  readonly requestId?: string
}

/** The parts that all runs of an agent share. */
export interface AgUiAgentParts {
  readonly options: AgUiAgentOptions
  readonly clock: Clock
  readonly sessions: SessionManager
  readonly executions: Executions
  readonly executionTimeoutMs: number
  readonly toolTimeoutMs: number
  readonly hidden: (key: string) => boolean
  readonly report: Report
}

/**
 * Runs agents as AG-UI agents, without HTTP: for tests and for embedding.
 * @example
 * const agUiAgent = new AgUiAgent({ runner: runner({ agent, store }), store, userId: 'ann' })
 * for await (const event of agUiAgent.run(input)) console.log(event.type)
 */
export class AgUiAgent {
  readonly sessions: SessionManager
  readonly #parts: AgUiAgentParts

  constructor(options: AgUiAgentOptions) {
    checkOptionNames('AgUiAgent', options, AGENT_OPTIONS)
    checkOptionNames('AgUiAgent: limits', options.limits ?? {}, INPUT_LIMITS)
    const { store, clock = systemClock, hidden = () => false, report = reportToConsole } = options
    const { executionTimeoutMs = 600_000, toolTimeoutMs = 300_000, maxConcurrentExecutions = 10 } = options
    checkOptions(options)
    const numbers = { executionTimeoutMs, toolTimeoutMs, maxConcurrentExecutions }
    for (const [name, value] of Object.entries(numbers)) {
      checkOption(typeof value === 'number' && value >= 1, 'AgUiAgent', `${name} must be a number of at least 1`, value)
    }
    this.sessions = options.sessions ?? new SessionManager({ store, clock, report: (error) => report(error, {}) })
    this.#parts = {
      options,
      clock,
      sessions: this.sessions,
      executions: new Executions(maxConcurrentExecutions, executionTimeoutMs),
      executionTimeoutMs,
      toolTimeoutMs,
      hidden: (key) => key.startsWith('temp:') || hidden(key),
      report: isolated(report),
    }
  }

  /** Whether clients neither see nor set a key of the state. */
  hidden(key: string): boolean {
    return this.#parts.hidden(key)
  }

  /** The number of active runs in this process. */
  get activeExecutions(): number {
    return this.#parts.executions.size
  }

  /**
   * Serves one request.
   * Contract: yields canonical events, RUN_STARTED or RUN_ERROR first, exactly one terminal last, whatever happens; never throws; starts when it is read, and can be read once; leaving cancels the run.
   */
  run(input: unknown, options: AgUiRunOptions = {}): PipeStream<AgUiEvent> {
    const run = new AgentRun(this.#parts, input, options)
    return pullStream<AgUiEvent>(
      (sink) => run.produce(sink),
      () => run.leave(),
    )
  }

  /** Cancels the run of a thread. Contract: works from any process; with `runId` a late request does not cancel the next run; false if nothing runs there. */
  async cancel(ref: ThreadRef, runId?: string): Promise<boolean> {
    const { executions, options } = this.#parts
    const local = executions.find(ref, runId)
    if (local) {
      local.stop(new KernelError('ABORTED', 'run: cancelled'))
      return true
    }
    const { threads, leases } = options.store
    if (isHold((await threads.get(ref))?.runId)) return false
    return leases.requestCancel(ref, { mode: 'now', ...(runId !== undefined && { runId }) })
  }
}

function checkOptions(options: AgUiAgentOptions): void {
  const { runner, resolveRunner, appName, appNameExtractor, userId, userIdExtractor, toolResults, pending } = options
  checkOption(
    runner === undefined || (typeof runner.run === 'function' && typeof runner.resume === 'function'),
    'AgUiAgent',
    'runner must be what runner({ agent }) of @troupe/flow makes',
    runner,
  )
  const { threads, leases } = Object(options.store) as Partial<AgUiAgentOptions['store']>
  checkOption(threads !== undefined && leases !== undefined, 'AgUiAgent', 'store must be a Store', options.store)
  const one = (a: unknown, b: unknown) => a === undefined || b === undefined
  checkOption(
    (runner === undefined) !== (resolveRunner === undefined),
    'AgUiAgent',
    'expected either runner or resolveRunner',
    runner,
  )
  checkOption(
    one(appName, appNameExtractor),
    'AgUiAgent',
    'expected either appName or appNameExtractor, not both',
    appName,
  )
  checkOption(one(userId, userIdExtractor), 'AgUiAgent', 'expected either userId or userIdExtractor, not both', userId)
  const modes: readonly unknown[] = [undefined, 'text', 'json']
  checkOption(modes.includes(toolResults), 'AgUiAgent', 'toolResults must be text or json', toolResults)
  const policies: readonly unknown[] = [undefined, 'reject', 'drop']
  checkOption(policies.includes(pending), 'AgUiAgent', 'pending must be reject or drop', pending)
}
