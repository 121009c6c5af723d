import type { AgentCapabilities } from '@ag-ui/core'
import { type CorsOptions, checkCors } from '@troupe/http'
import { type Awaitable, KernelError, type Owner, type RunContext, type Store, type ThreadRef } from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, safeReport, systemClock } from '@troupe/kernel/kit'
import { AgUiAgent } from '../agent/ag-ui-agent.ts'
import { AGENT_OPTIONS, type AgUiAgentOptions } from '../agent/agent-settings.ts'
import { INPUT_LIMITS, type InputLimits } from '../input/parse-run-agent-input.ts'
import type { LostRuns } from '../lost/lost-runs.ts'
import { reportToConsole } from '../report-to-console.ts'
import type { ExecutionState } from '../run/execution-state.ts'
import { Executions, MAX_EXECUTIONS } from '../run/executions.ts'
import type { ServedAgent } from '../run/served-agent.ts'
import { ASSUMED_VERSION, isVersion, understoodBy } from '../write/understood.ts'
import { allowOrigin, preflight } from './cors.ts'
import { OpenStreams } from './open-streams.ts'
import { refusalOf, refuse } from './refuse.ts'
import { findRoute, type Route, type RouteContext } from './route.ts'
import { runRoutes } from './run-routes.ts'
import type { HandlerParts } from './serve-run.ts'
import { threadRoutes } from './thread-routes.ts'

/** The user who sent a request. */
export type Visitor = {
  readonly user: string
  /** @default `appName` */
  readonly app?: string
  /** Adds what was learnt about the request to the context of its run: `(ctx) => ctx.with(CLAIMS, claims)`. */
  readonly prepare?: (ctx: RunContext) => RunContext
}

/** The options of a handler; those of an `AgUiAgent` may be given here too. */
export interface AgUiHandlerOptions
  extends Omit<AgUiAgentOptions, 'store' | 'userId' | 'userIdExtractor' | 'appNameExtractor' | 'limits'> {
  /** Instead of `runner` or `resolveRunner`: an existing agent with its own options. */
  readonly agent?: ServedAgent
  /** Contract: the store of the runner. */
  readonly store: Pick<Store, 'threads' | 'leases' | 'runLog'> & Partial<Pick<Store, 'journal'>>
  /** Returns the user who sent a request; without a user the answer is 401. Contract: the only source of the user. */
  readonly authenticate?: (request: Request) => Awaitable<Visitor | undefined>
  /** Instead of `authenticate`: the owner of every request; served on loopback only. */
  readonly owner?: Owner
  /** The path under which the routes are mounted. @default '/' */
  readonly path?: string
  /** Capabilities of the agent, merged category by category with those of every agent here. */
  readonly capabilities?: AgentCapabilities
  /** Whether a run goes on or is cancelled when its last reader closes the connection. @default 'detach' */
  readonly onDisconnect?: 'detach' | 'cancel'
  /** Whether a run whose process is gone is continued when a client follows it or joins its thread, waits until a client asks for it, or is left as it is. @default 'continue' */
  readonly lostRuns?: LostRuns
  /** Lets pages of other origins call the handler. @default none */
  readonly cors?: CorsOptions
  /** The version of `@ag-ui/client` of clients that name none: all before 1.0. They get only what that version accepts. @default '0.0.40' */
  readonly assumedVersion?: string
  readonly limits?: InputLimits & HttpLimits
}

/** Limits of the transport. */
export interface HttpLimits {
  /** The whole body; clients send the history with every request, and `newChars` limits what is new. @default 16_777_216 */
  readonly bodyBytes?: number
  /** After how long without an event a keep-alive comment is sent. @default 15_000 */
  readonly keepAliveMs?: number
  /** How long a reader may take nothing. @default 30_000 */
  readonly drainMs?: number
  /** How long a run goes on while nobody follows it. @default 300_000 */
  readonly detachedMs?: number
  /** How many streams one user may have open. @default 64 */
  readonly streamsPerUser?: number
  /** After how many characters a page of messages or threads ends, a stream of messages waits for its reader, and the state of a thread is left out. @default 1_000_000 */
  readonly pageChars?: number
  /** After how long without an event the server checks that a run of another process is still alive. @default 5_000 */
  readonly lookMs?: number
}

/**
 * A fetch-style handler.
 * Contract: `context` is the execution context of a worker; if it has `waitUntil`, the worker is kept alive until the run that the request started
 * has ended, even if its reader leaves. Any other context is ignored.
 */
export interface AgUiHandler extends AsyncDisposable {
  (request: Request, context?: unknown): Promise<Response>
  /** The path under which the routes are mounted. @default '/' */
  readonly path?: string
  readonly routes: readonly Route[]
  /** Whether it authenticates requests; if not, serve it on loopback only. */
  readonly authenticates: boolean
  /** Refuses new runs, waits `graceMs` for active runs to end, then cancels them. @default 5_000 */
  stop(graceMs?: number): Promise<void>
}

/**
 * Serves an agent over HTTP: for node:http with `agUiServer` of `@troupe/ag-ui/node`, and for every runtime with fetch-style handlers.
 * @example const handler = agUiHandler({ runner: runner({ agent, store }), store, authenticate: (request) => userOf(request) })
 */
export function agUiHandler(options: AgUiHandlerOptions): AgUiHandler {
  checkOptionNames(WHO, options, NAMES)
  checkOptionNames(`${WHO}: limits`, options.limits ?? {}, LIMITS)
  const { authenticate, owner, path = '/', onDisconnect = 'detach', clock = systemClock, limits = {}, store } = options
  const { cors, capabilities = {}, runner, lostRuns = 'continue', assumedVersion = ASSUMED_VERSION } = options
  const report = safeReport(options.report ?? reportToConsole)
  const {
    bodyBytes = 16_777_216,
    keepAliveMs = 15_000,
    drainMs = 30_000,
    lookMs = 5_000,
    detachedMs = 300_000,
  } = limits
  const { streamsPerUser = 64, pageChars = 1_000_000 } = limits
  const { appName = runner?.agent.name ?? 'agent' } = options
  check(options, { bodyBytes, keepAliveMs, drainMs, lookMs, detachedMs, streamsPerUser, pageChars })
  const agent: ServedAgent = options.agent ?? new AgUiAgent(agentOptions(options, appName))
  const hidden = (key: string) => agent.hidden?.(key) === true
  const executions = agent.executions ?? new Executions(clock)
  const parts: HandlerParts = {
    agent,
    executions,
    store,
    clock,
    keepAliveMs,
    drainMs,
    lookMs,
    detachedMs,
    pageChars,
    streams: new OpenStreams(streamsPerUser),
    onDisconnect,
    lostRuns: agent.continue ? lostRuns : 'leave',
    understood: (version) => understoodBy(typeof version === 'string' ? version : undefined, assumedVersion),
    report,
  }
  const deleteThread = async (ref: ThreadRef) => {
    if (agent.sessions) return agent.sessions.deleteSession(ref)
    if ((await store.threads.get(ref))?.runId !== undefined)
      throw new KernelError('THREAD_BUSY', 'thread: a run is active')
    return store.threads.delete(ref)
  }
  const routes = [
    ...runRoutes(parts, bodyBytes),
    ...threadRoutes(parts, { capabilities: mergedCapabilities(capabilities), hidden, deleteThread }),
  ]

  const visitorOf = async (request: Request): Promise<Pick<RouteContext, 'owner' | 'prepare'>> => {
    const visitor: Visitor | undefined = authenticate ? await authenticate(request) : owner
    if (!visitor) throw new KernelError('UNAUTHENTICATED', 'authentication required')
    const { app = appName, user, prepare } = visitor
    if (isName(app) && isName(user)) return { owner: { app, user }, ...(prepare && { prepare }) }
    throw new KernelError('CONFIG_INVALID', 'authenticate: expected { user } with a non-empty string')
  }

  const allowed = (request: Request, response: Response, requestId: string) => {
    if (cors) allowOrigin(cors, request, response)
    response.headers.set('x-request-id', requestId)
    return response
  }
  const handle = async (request: Request, context?: unknown): Promise<Response> => {
    const requestId = requestIdOf(request)
    const waitUntil = waitUntilOf(context)
    let response: Response
    try {
      const preflighted = cors && preflight(cors, request, requestId)
      if (preflighted) return allowed(request, preflighted, requestId)
      const { pathname, searchParams } = new URL(request.url)
      const visitor = await visitorOf(request)
      const { route, params } = findRoute(routes, path, request.method, pathname)
      response = await route.handle({ ...visitor, params, query: searchParams, request, requestId, waitUntil })
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal.code === 'AGENT_ERROR') report(KernelError.from(error), { requestId })
      const allow = KernelError.is(error, 'METHOD_NOT_ALLOWED') && String(error.details.allow)
      response = refuse({ ...refusal, ...(allow && { headers: { allow } }) }, requestId)
    }
    return allowed(request, response, requestId)
  }
  const isCarried = async (run: ExecutionState) => (await agent.progress?.(run.ref, run.runId)) !== undefined
  const stop = (graceMs = 5_000) => executions.stopAll(graceMs, isCarried)
  return Object.assign(handle, {
    path,
    routes,
    authenticates: authenticate !== undefined,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  })
}

const CAPABILITIES: AgentCapabilities = {
  transport: { streaming: true, httpBinary: true, resumable: true },
  tools: { supported: true, clientProvided: true },
  state: { snapshots: true, deltas: true },
  humanInTheLoop: { supported: true, interrupts: true },
}

/** Adds to each category what every agent here can do; what the app says of it counts. */
function mergedCapabilities(own: AgentCapabilities): AgentCapabilities {
  const merged: Record<string, unknown> = { ...CAPABILITIES, ...own }
  for (const [name, common] of Object.entries(CAPABILITIES)) {
    merged[name] = { ...common, ...own[name as keyof AgentCapabilities] }
  }
  return merged
}

function check(options: AgUiHandlerOptions, numbers: Record<string, number>): void {
  const { agent, runner, resolveRunner, authenticate, owner, onDisconnect, lostRuns, path = '/' } = options
  const one = (...given: unknown[]) => given.filter((value) => value !== undefined).length === 1
  checkOption(one(agent, runner, resolveRunner), WHO, 'expected exactly one of agent, runner and resolveRunner', agent)
  const ignored = agent && ignoredBeside(options)
  checkOption(!ignored, WHO, `${ignored} has no effect beside agent; give it to that agent`, ignored)
  checkOption(one(authenticate, owner), WHO, 'expected either authenticate or, for a single user, owner', owner)
  const policies: readonly unknown[] = [undefined, 'detach', 'cancel']
  checkOption(policies.includes(onDisconnect), WHO, 'onDisconnect must be detach or cancel', onDisconnect)
  const policiesOfLost: readonly unknown[] = [undefined, 'continue', 'ask', 'leave']
  checkOption(policiesOfLost.includes(lostRuns), WHO, 'lostRuns must be continue, ask or leave', lostRuns)
  const { assumedVersion = ASSUMED_VERSION } = options
  if (options.cors !== undefined) checkCors(`${WHO}: cors`, options.cors)
  checkOption(isVersion(assumedVersion), WHO, 'assumedVersion must be a version like 0.0.59', assumedVersion)
  checkOption(typeof path === 'string' && path.startsWith('/'), WHO, 'path must begin with /', path)
  for (const [name, value] of Object.entries(numbers)) {
    checkOption(typeof value === 'number' && value >= 1, WHO, `${name} must be a number of at least 1`, value)
  }
}

const WHO = 'agUiHandler'
const { userId: _1, userIdExtractor: _2, appNameExtractor: _3, ...SHARED } = AGENT_OPTIONS
const NAMES: OptionNames<AgUiHandlerOptions> = {
  ...SHARED,
  agent: true,
  authenticate: true,
  owner: true,
  path: true,
  capabilities: true,
  onDisconnect: true,
  lostRuns: true,
  cors: true,
  assumedVersion: true,
}
const LIMITS: OptionNames<InputLimits & HttpLimits> = {
  ...INPUT_LIMITS,
  bodyBytes: true,
  keepAliveMs: true,
  drainMs: true,
  lookMs: true,
  detachedMs: true,
  streamsPerUser: true,
  pageChars: true,
}
/** Options of agents that a handler needs too. */
const OF_BOTH: ReadonlySet<string> = new Set([
  'runner',
  'resolveRunner',
  'store',
  'appName',
  'limits',
  'clock',
  'report',
])

/** An option that would have no effect beside an existing agent. */
function ignoredBeside(options: AgUiHandlerOptions): string | undefined {
  const given: Partial<Record<string, unknown>> = { ...options }
  const limits: Partial<Record<string, unknown>> = { ...options.limits }
  const ignored = Object.keys(SHARED).find((name) => !OF_BOTH.has(name) && given[name] !== undefined)
  if (ignored !== undefined) return ignored
  const limit = Object.keys(INPUT_LIMITS).find((name) => limits[name] !== undefined)
  return limit && `limits.${limit}`
}

function agentOptions(options: AgUiHandlerOptions, appName: string): AgUiAgentOptions {
  const {
    authenticate,
    owner,
    path,
    capabilities,
    onDisconnect,
    lostRuns,
    cors,
    assumedVersion,
    agent,
    limits,
    ...rest
  } = options
  const { bodyBytes, keepAliveMs, drainMs, lookMs, detachedMs, streamsPerUser, pageChars, ...inputLimits } =
    limits ?? {}
  // One owner has the whole server.
  const { maxConcurrentExecutions: all = MAX_EXECUTIONS, maxExecutionsPerUser = owner && all } = options
  const share = maxExecutionsPerUser !== undefined && { maxExecutionsPerUser }
  return { ...rest, ...share, appName, limits: inputLimits }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function waitUntilOf(context: unknown): RouteContext['waitUntil'] {
  const worker = context as { waitUntil?: (work: Promise<unknown>) => void } | null | undefined
  return typeof worker?.waitUntil === 'function' ? (work) => worker.waitUntil?.(work) : () => undefined
}

/** The id from a proxy if it is valid, else a new one. */
function requestIdOf({ headers }: Request): string {
  const given = headers.get('x-request-id')
  return given !== null && /^[\w.:-]{1,128}$/.test(given) ? given : crypto.randomUUID()
}
