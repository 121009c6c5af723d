import type { RunAgentInput, Tool } from '@ag-ui/core'
import type { Awaitable, Clock, KernelError, Owner, Runner, RunOptions, Store } from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, safeReport, systemClock } from '@troupe/kernel/kit'
import { type ClientToolOptions, clientToolOptions } from '../client-tools/client-tool-options.ts'
import type { SystemMessageMode } from '../input/added-instruction.ts'
import { INPUT_LIMITS, type InputLimits } from '../input/parse-run-agent-input.ts'
import type { ClientStateMode } from '../input/state-change.ts'
import type { ToolResultMode } from '../input/tool-result.ts'
import { reportToConsole } from '../report-to-console.ts'
import { EXECUTION_MS, MAX_EXECUTIONS } from '../run/executions.ts'
import { SessionManager } from '../session/session-manager.ts'
import { isTemporary } from '../translate/shared-state.ts'
import { checkShow, type ShowOptions } from '../translate/show-options.ts'

/** The options of an `AgUiAgent`. */
export interface AgUiAgentOptions {
  /** Runs the agent; its store has to be `store`. */
  readonly runner?: Runner
  /** Instead of `runner`: picks one for each request. */
  readonly resolveRunner?: (input: RunAgentInput, owner: Owner) => Awaitable<Runner>
  /** Contract: the store of the runner; its `journal` is needed to continue the runs of `resolveRunner`. */
  readonly store: Pick<Store, 'threads' | 'leases'> & Partial<Pick<Store, 'journal'>>
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
  /** How long a run may take. @default the limit of the runner, which is 600_000 for `runner` of `@troupe/flow` */
  readonly executionTimeoutMs?: number
  /** How long a tool of the server may take before its run is stopped; a call of a client tool stays open as long as its session. @default 300_000 */
  readonly toolTimeoutMs?: number
  /** What a process on two cores can stream to readers at once. @default 100 */
  readonly maxConcurrentExecutions?: number
  /** How many of these runs one user may have. @default half of `maxConcurrentExecutions`, and all of them for an agent with one `userId` */
  readonly maxExecutionsPerUser?: number
  /** How results of client tools are kept. @default 'text' */
  readonly toolResults?: ToolResultMode
  /** What becomes of a leading system or developer message of a client: it is ignored, or added to the instruction of the root agent. @default 'ignore' */
  readonly systemMessages?: SystemMessageMode
  /** How a client's state changes that of the thread: `'merge'` sets its keys, `'patch'` also removes those that are `null`, `'replace'` also removes those that it lacks. @default 'merge' */
  readonly clientState?: ClientStateMode
  /** Whether a new message in place of one that the client no longer shows cuts the thread there, or is added at its end. @default 'cut' */
  readonly edits?: 'cut' | 'append'
  /** Whether user text is refused while calls or questions are open, or drops them. @default 'reject' */
  readonly pending?: 'reject' | 'drop'
  /** Selects state keys that clients neither see nor set. `temp:` keys are always hidden, but clients may set them. @default none */
  readonly hidden?: (key: string) => boolean
  /** What clients see of a run besides what it says and does; by request, if it is a function. */
  readonly show?: ShowOptions | ((input: RunAgentInput) => ShowOptions)
  /** Which client tools the model gets, and under which names; a function selects them. @default all, under their own names */
  readonly clientTools?: ClientToolOptions | ((tool: Tool, owner: Owner) => boolean)
  readonly limits?: InputLimits
  /** @default one over `store` */
  readonly sessions?: SessionManager
  readonly clock?: Clock
  /** Receives errors whose text a client does not get. @default console.error */
  readonly report?: (error: KernelError, about: { readonly requestId?: string }) => void
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
  maxExecutionsPerUser: true,
  toolResults: true,
  systemMessages: true,
  clientState: true,
  edits: true,
  pending: true,
  hidden: true,
  show: true,
  clientTools: true,
  limits: true,
  sessions: true,
  clock: true,
  report: true,
}

type Defaulted =
  | 'clock'
  | 'sessions'
  | 'toolTimeoutMs'
  | 'maxConcurrentExecutions'
  | 'maxExecutionsPerUser'
  | 'toolResults'
  | 'systemMessages'
  | 'clientState'
  | 'edits'
  | 'hidden'
  | 'report'

/** The options of an agent, checked, with their defaults. */
export type AgentSettings = Omit<AgUiAgentOptions, 'clientTools'> &
  Required<Pick<AgUiAgentOptions, Defaulted>> & { readonly clientTools: ClientToolOptions }

/** Checks the options of an agent and fills in the defaults. */
export function agentSettings(options: AgUiAgentOptions): AgentSettings {
  checkOptionNames(WHO, options, AGENT_OPTIONS)
  checkOptionNames(`${WHO}: limits`, options.limits ?? {}, INPUT_LIMITS)
  const { store, clock = systemClock, hidden = () => false, toolResults = 'text', systemMessages = 'ignore' } = options
  const {
    executionTimeoutMs = EXECUTION_MS,
    toolTimeoutMs = 300_000,
    maxConcurrentExecutions = MAX_EXECUTIONS,
  } = options
  checkChoices(options)
  const { show } = options
  if (show !== undefined && typeof show !== 'function') checkShow(WHO, show)
  const share = options.userId === undefined ? Math.ceil(maxConcurrentExecutions / 2) : maxConcurrentExecutions
  const { maxExecutionsPerUser = share } = options
  const numbers = { executionTimeoutMs, toolTimeoutMs, maxConcurrentExecutions, maxExecutionsPerUser }
  for (const [name, value] of Object.entries(numbers)) {
    checkOption(typeof value === 'number' && value >= 1, WHO, `${name} must be a number of at least 1`, value)
  }
  const report = safeReport(options.report ?? reportToConsole)
  return {
    ...options,
    toolTimeoutMs,
    maxConcurrentExecutions,
    maxExecutionsPerUser,
    clock,
    sessions: options.sessions ?? new SessionManager({ store, clock, report: (error) => report(error, {}) }),
    toolResults,
    systemMessages,
    clientState: options.clientState ?? 'merge',
    edits: options.edits ?? 'cut',
    clientTools: clientToolOptions(WHO, options.clientTools),
    hidden: (key) => isTemporary(key) || hidden(key),
    report,
  }
}

const WHO = 'AgUiAgent'

function checkChoices(options: AgUiAgentOptions): void {
  const { runner, resolveRunner, appName, appNameExtractor, userId, userIdExtractor, toolResults, pending } = options
  const known: readonly unknown[] = [undefined, 'ignore', 'instruction']
  const { systemMessages } = options
  checkOption(known.includes(systemMessages), WHO, 'systemMessages must be ignore or instruction', systemMessages)
  checkOption(
    runner === undefined || (typeof runner.run === 'function' && typeof runner.resume === 'function'),
    WHO,
    'runner must be what runner({ agent }) of @troupe/flow makes',
    runner,
  )
  const { threads, leases } = Object(options.store) as Partial<AgUiAgentOptions['store']>
  checkOption(threads !== undefined && leases !== undefined, WHO, 'store must be a Store', options.store)
  const one = (a: unknown, b: unknown) => a === undefined || b === undefined
  checkOption(
    (runner === undefined) !== (resolveRunner === undefined),
    WHO,
    'expected either runner or resolveRunner',
    runner,
  )
  checkOption(one(appName, appNameExtractor), WHO, 'expected either appName or appNameExtractor, not both', appName)
  checkOption(one(userId, userIdExtractor), WHO, 'expected either userId or userIdExtractor, not both', userId)
  const modes: readonly unknown[] = [undefined, 'text', 'json']
  checkOption(modes.includes(toolResults), WHO, 'toolResults must be text or json', toolResults)
  const states: readonly unknown[] = [undefined, 'merge', 'patch', 'replace']
  const { clientState, edits } = options
  checkOption(states.includes(clientState), WHO, 'clientState must be merge, patch or replace', clientState)
  const cuts: readonly unknown[] = [undefined, 'cut', 'append']
  checkOption(cuts.includes(edits), WHO, 'edits must be cut or append', edits)
  const policies: readonly unknown[] = [undefined, 'reject', 'drop']
  checkOption(policies.includes(pending), WHO, 'pending must be reject or drop', pending)
}
