import type { McpServer } from '@modelcontextprotocol/server'
import { type CorsOptions, checkCors } from '@troupe/http'
import type {
  Agent,
  Awaitable,
  Clock,
  KernelError,
  Owner,
  RunContext,
  Runner,
  Schema,
  Store,
  Tool,
} from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames } from '@troupe/kernel/kit'
import type { RunnerOf } from './call/offered-tool.ts'

/** The user who sent a request. */
export interface McpVisitor {
  readonly user: string
  /** @default the name of the agent or tool */
  readonly app?: string
  /** Adds what was learnt about the request to the context of its run: `(ctx) => ctx.with(CLAIMS, claims)`. */
  readonly prepare?: (ctx: RunContext) => RunContext
}

/** The options of a server. */
export interface McpServerOptions {
  /** The runner of the one agent that is served, or what makes the runner of each of `agents` and `tools`: `(agent) => runner({ agent, store })`. */
  readonly runner: Runner | RunnerOf
  /** The agents that are served, each as a tool. */
  readonly agents?: readonly Agent[]
  /** Tools that are served as they are, without an agent. */
  readonly tools?: readonly Tool[]
  /** The schemas of structured output, by the name of the agent. */
  readonly outputs?: { readonly [agent: string]: Schema }
  /** Contract: the store of the runners. */
  readonly store: Pick<Store, 'threads'>
  /** Returns the user who sent a request, or the response that asks for a sign-in; without a user the answer is 401. Contract: the only source of the user. */
  readonly authenticate?: (request: Request) => Awaitable<McpVisitor | Response | undefined>
  /** Instead of `authenticate`: the owner of every request; served on loopback and over stdio only. */
  readonly owner?: Owner
  /** How the server calls itself. @default the name of its first tool, version 0.0.0 */
  readonly info?: { readonly name: string; readonly version: string; readonly title?: string }
  /** How clients should use the server. */
  readonly instructions?: string
  /** Adds resources, prompts and tools of the SDK to the server of one request or connection. */
  readonly extend?: (server: McpServer, visitor: McpVisitor) => void
  /** Lets pages of other origins call the server. @default none */
  readonly cors?: CorsOptions
  /** @default 10 */
  readonly maxConcurrentExecutions?: number
  /** How many of these calls one user may have. @default half of `maxConcurrentExecutions`; all of them with `owner` */
  readonly maxExecutionsPerUser?: number
  /** How long a call may take. @default the limit of the runner */
  readonly executionTimeoutMs?: number
  readonly limits?: McpServerLimits
  readonly clock?: Clock
  /** Receives errors whose text a client does not get. @default console.error */
  readonly report?: (error: KernelError) => void
}

/** Limits of the transport. */
export interface McpServerLimits {
  /** The body of a request. @default 4_194_304 */
  readonly bodyBytes?: number
  /** The result of a call, and the progress of a call. @default 1_000_000 */
  readonly answerChars?: number
  /** After how long without an event a keep-alive comment is sent. @default 15_000 */
  readonly keepAliveMs?: number
  /** How many requests and streams one user may have open. @default 64 */
  readonly streamsPerUser?: number
  /** How many sessions of the stateful protocol one user may have. @default 64 */
  readonly sessionsPerUser?: number
  /** How many sessions there may be. @default 1_024 */
  readonly sessions?: number
  /** After how long without a request or an open stream a session ends. @default 1_800_000 */
  readonly sessionMs?: number
  /** How long a client of the stateful protocol may take to answer a question before its call ends; the question stays open. @default 600_000 */
  readonly answerMs?: number
}

const WHO = 'mcpServer'
const OPTIONS: OptionNames<McpServerOptions> = {
  runner: true,
  agents: true,
  tools: true,
  outputs: true,
  store: true,
  authenticate: true,
  owner: true,
  info: true,
  instructions: true,
  extend: true,
  cors: true,
  maxConcurrentExecutions: true,
  maxExecutionsPerUser: true,
  executionTimeoutMs: true,
  limits: true,
  clock: true,
  report: true,
}
const LIMITS: Required<McpServerLimits> = {
  bodyBytes: 4_194_304,
  answerChars: 1_000_000,
  keepAliveMs: 15_000,
  streamsPerUser: 64,
  sessionsPerUser: 64,
  sessions: 1_024,
  sessionMs: 1_800_000,
  answerMs: 600_000,
}

/** Checks the options and gives the limits. Contract: throws `CONFIG_INVALID`. */
export function checkServerOptions(options: McpServerOptions): Required<McpServerLimits> {
  checkOptionNames(WHO, options, OPTIONS, { agent: 'agents', name: 'info' })
  checkOptionNames(
    `${WHO}: limits`,
    options.limits ?? {},
    Object.fromEntries(Object.keys(LIMITS).map((n) => [n, true])) as OptionNames<McpServerLimits>,
  )
  const { runner, agents, tools = [], authenticate, owner, store, cors } = options
  const one = (agents !== undefined || tools.length > 0) === (typeof runner === 'function')
  checkOption(
    one,
    WHO,
    'runner must be a runner, or for agents and tools a function that makes one: (agent) => runner({ agent, store })',
    runner,
  )
  checkOption(typeof runner === 'function' || typeof runner?.run === 'function', WHO, 'expected a runner', runner)
  checkOption(
    (authenticate === undefined) !== (owner === undefined),
    WHO,
    'expected either authenticate or, for a single user, owner',
    owner,
  )
  checkOption(typeof store?.threads?.get === 'function', WHO, 'store must be the Store of the runners', store)
  if (cors !== undefined) checkCors(`${WHO}: cors`, cors)
  const limits = { ...LIMITS, ...options.limits }
  const { maxConcurrentExecutions = 1, maxExecutionsPerUser = 1, executionTimeoutMs = 1 } = options
  for (const [name, value] of Object.entries({
    ...limits,
    maxConcurrentExecutions,
    maxExecutionsPerUser,
    executionTimeoutMs,
  })) {
    checkOption(typeof value === 'number' && value >= 1, WHO, `${name} must be a number of at least 1`, value)
  }
  return limits
}
