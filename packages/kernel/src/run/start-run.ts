import type { Agent, AgentInput, ResumeInfo } from '../agent/agent.ts'
import { readInput, type StartInput } from '../agent/start-input.ts'
import { Listeners } from '../callback/listeners.ts'
import { systemClock } from '../context/clock.ts'
import type { RunContext } from '../context/context.ts'
import { TrackedState } from '../context/state.ts'
import type { JsonObject } from '../data/json.ts'
import { got, KernelError } from '../data/kernel-error.ts'
import { checkOption, checkOptionNames, type OptionNames } from '../data/option.ts'
import { KernelContext } from '../engine/kernel-context.ts'
import { keyPart } from '../engine/key-part.ts'
import { RunCore } from '../engine/run-core.ts'
import { kernelRun } from './kernel-run.ts'
import { checkAgent } from './observe.ts'
import type { Run, RunSettings } from './run.ts'
import type { RunHost } from './run-host.ts'

/**
 * Runs an agent: `run-start`, its events, exactly one `run-end`.
 * Contract: `settings` say what the run is asked to do, `host` where it runs; without a host it stands alone.
 * @example const { text } = await startRun(agent, 'How is the weather in Beijing?')
 */
export function startRun<Output>(
  agent: Agent<Output>,
  input: StartInput | ResumeInfo,
  settings: RunSettings = {},
  host: RunHost = {},
): Run<Output> {
  checkAgent(agent)
  const core = createCore(settings, host, 'startRun')
  const start = readInput<AgentInput | ResumeInfo>(input, core.runId, `run of ${agent.name}`)
  const context = (state: JsonObject | undefined) => rootContext(core, agent.name, state, settings)
  return kernelRun<Output>({ agent, start, core, settings, host, context })
}

/**
 * Creates a context for standalone use: to test a tool or handler, or to call an agent by hand.
 * @example await tool.invoke?.({ city: 'Beijing' }, createRunContext(), call)
 */
export function createRunContext(settings: RunSettings = {}): RunContext {
  const ctx = rootContext(createCore(settings, {}, 'createRunContext'), '', undefined, settings)
  return settings.signal ? ctx.derive({ signal: settings.signal }) : ctx
}

const SETTINGS: OptionNames<RunSettings> = {
  session: true,
  runId: true,
  signal: true,
  pending: true,
  prepare: true,
  carry: true,
  callbacks: true,
  clock: true,
  state: true,
  canInterrupt: true,
  timeoutMs: true,
  report: true,
}
const ALIASES = { abortSignal: 'signal', timeout: 'timeoutMs', thread: 'session', id: 'runId' } as const

function createCore(settings: RunSettings, host: RunHost, who: string): RunCore {
  checkOptionNames(who, settings, SETTINGS, ALIASES)
  const { callbacks = [], clock = systemClock, report, canInterrupt = false } = settings
  // biome-ignore lint/plugin: a root run's id is where replay begins; everything in it is named after it
  const runId = settings.runId ?? crypto.randomUUID()
  if (typeof runId !== 'string' || runId === '') {
    throw new KernelError('CONFIG_INVALID', `${who}: runId must be a non-empty string, ${got(runId)}`)
  }
  checkSettings(settings, who)
  const session = settings.session ?? { app: 'standalone', user: 'standalone', threadId: runId }
  const makeKey = () => {
    // An id of the kernel's own is plain, and a look at it would cost 0.2 of 2.7 µs of a turn.
    const own = settings.runId === undefined ? runId : keyPart(runId)
    const thread = session.threadId === runId ? own : keyPart(session.threadId)
    return `${keyPart(session.app)}/${keyPart(session.user)}/${thread}/${own}`
  }
  return new RunCore({
    runId,
    session,
    clock,
    listeners: callbacks.length > 0 ? new Listeners(callbacks, clock, report) : undefined,
    canInterrupt,
    cancelling: host.cancelling && (() => host.cancelling?.()),
    beforeEffect: host.beforeEffect && (() => host.beforeEffect?.()),
    depth: 0,
    runPath: [],
    parent: undefined,
    outer: undefined,
    makeKey,
  })
}

function checkSettings({ session, signal, timeoutMs }: RunSettings, who: string): void {
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    checkOption(false, who, 'timeoutMs must be a positive number of milliseconds', timeoutMs)
  }
  if (signal !== undefined && (typeof signal !== 'object' || signal === null || 'signal' in signal)) {
    checkOption(false, who, 'signal must be an AbortSignal, the `signal` of an AbortController', signal)
  }
  if (session !== undefined && [session?.app, session?.user, session?.threadId].some((id) => typeof id !== 'string')) {
    checkOption(false, who, 'session must be { app, user, threadId }, each a text', session)
  }
}

function rootContext(
  core: RunCore,
  agentName: string,
  state: JsonObject | undefined,
  settings: RunSettings,
): RunContext {
  const initial = state ?? settings.state
  const ctx = new KernelContext(core, {
    agentName,
    runPath: core.runPath,
    step: '',
    state: new TrackedState(initial && new Map(Object.entries(initial))),
    signal: undefined,
    values: undefined,
    progress: undefined,
    iteration: undefined,
    agent: undefined,
  })
  return settings.prepare ? settings.prepare(ctx) : ctx
}
