import { getEventListeners } from 'node:events'
import type {
  Agent,
  AgentEvent,
  AgentInput,
  CallScope,
  Clock,
  EventDraft,
  ModelRequest,
  ModelResult,
  Run,
  RunContext,
  StartInput,
  ToolCallInput,
} from '../index.ts'
import { KernelError, say, stream } from '../index.ts'
import { type RunHost, type RunSettings, runNested, startRun } from '../run.ts'
import { idle, raise } from '../stream/stream.fixture.ts'

/** No messages. */
export const input: AgentInput = { messages: [] }

/** Never settles. */
export const never: Promise<never> = new Promise(() => {})

/** Throws an ordinary error. */
export const boom = (): never => raise(new Error('boom'))

/** An object that throws on every access. */
export const minefield = (): object =>
  new Proxy({}, { get: boom, has: boom, getPrototypeOf: boom, ownKeys: boom, getOwnPropertyDescriptor: boom })

/** An object whose error properties throw when they are read. */
export function getters(): object {
  const get = { get: boom }
  return Object.defineProperties({}, { code: get, message: get, name: get, stack: get, toString: get, toJSON: get })
}

/** A clock that only moves when a test moves it. */
interface FakeClock extends Clock {
  /** Contract: the work that a timer starts is done before the next one fires, as with the system clock. */
  pass(ms: number): Promise<void>
  pending(): number
}

/** Makes a clock at 0. */
export function fakeClock(): FakeClock {
  let now = 0
  const timers = new Set<{ readonly at: number; readonly fire: () => void }>()
  return {
    now: () => now,
    after(ms, fire) {
      const timer = { at: now + ms, fire }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    async pass(ms) {
      const end = now + ms
      for (;;) {
        await idle()
        const [next] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
        if (!next) break
        timers.delete(next)
        now = next.at
        next.fire()
      }
      now = end
    },
    pending: () => timers.size,
  }
}

/** An agent of one function. */
export const agentOf = (
  name: string,
  run: (ctx: RunContext, input: AgentInput) => AsyncIterable<EventDraft>,
): Agent => ({ name, description: name, run: (start, ctx) => run(ctx, start) })

/** An agent that says one thing. */
export const talker = (name: string, text: string = name): Agent => agentOf(name, (ctx) => say(ctx, text))

/** An agent that works and says nothing. */
export const quiet = (name: string, work: (ctx: RunContext, input: AgentInput) => Promise<void>): Agent =>
  agentOf(name, (ctx, start) => stream(() => work(ctx, start)))

/** An agent that runs others inside one call each, at the same time, then says its name. */
export const caller = (name: string, ...children: readonly Agent[]): Agent =>
  agentOf(name, async function* (ctx) {
    await Promise.all(children.map((child, i) => runNested(child, input, callOf(ctx, i))))
    yield* say(ctx, name)
  })

/** A context for the call `index` of an agent, as a tool runner derives it. */
export const callOf = (ctx: RunContext, index: number, scope: Partial<CallScope> = {}): RunContext =>
  ctx.derive({
    step: `tool:0:${index}`,
    call: { callId: `${ctx.agentName}-${index}`, onAction() {}, onInterrupt() {}, ...scope },
  })

/** The input of a tool call. */
export const toolCall = (ctx: RunContext, callId: string): ToolCallInput => ({
  name: 't',
  arguments: '{}',
  callId,
  step: ctx.step,
  idempotencyKey: callId,
})

/** A model request. */
export const request = (step: string): ModelRequest => ({
  instruction: '',
  messages: [],
  tools: [],
  options: {},
  step,
  idempotencyKey: step,
})

/** A model result. */
export const answer: ModelResult = {
  message: { id: 'm', role: 'assistant', content: '' },
  usage: { inputTokens: 1, outputTokens: 1 },
  finishReason: 'stop',
  model: 'm',
}

/** A tool starts: a gated event. */
export const toolStart: EventDraft = { type: 'tool-start', callId: 'c', name: 't', arguments: '{}' }

/** An action: the other gated event. */
export const action: EventDraft = { type: 'action', action: { type: 'custom', name: 'x' } }

/** The types of events. */
export const typesOf = (events: readonly AgentEvent[]): string[] => events.map(({ type }) => type)

/** Agent and type of events. */
export const brief = (events: readonly AgentEvent[]): string[] =>
  events.map(({ agentName, type }) => `${agentName} ${type}`)

/** Counts the items of a list that begin with `start`. */
export const countOf = (list: readonly string[], start: string): number =>
  list.filter((item) => item.startsWith(start)).length

/** How awaiting a run settles: its outcome, or the code of its error. */
export const settled = (run: Run): Promise<string> =>
  Promise.resolve(run).then(
    ({ outcome }) => outcome,
    (error: unknown) => (KernelError.is(error) ? error.code : `foreign: ${String(error)}`),
  )

/** The leftovers of every run that ended properly, whatever its outcome. */
export const CLEAN: Leftovers = {
  ends: 1,
  last: 'run-end',
  runSpans: 1,
  openAgents: 0,
  listeners: 0,
  timers: 0,
  reports: 0,
}

/** Counts taken after a run: end events, open spans, listeners, timers, reports. */
interface Leftovers {
  readonly ends: number
  readonly last: string | undefined
  readonly runSpans: number
  readonly openAgents: number
  readonly listeners: number
  readonly timers: number
  readonly reports: number
}

/** A run with everything that a test can observe of it. */
interface Watched {
  readonly run: Run
  /** Takes the iterator and reads that many events. */
  begin(count: number): Promise<AsyncIterator<AgentEvent>>
  readonly clock: FakeClock
  readonly controller: AbortController
  readonly parts: readonly AgentEvent[]
  /** `+run`, `-agent complete`, `-run ! TIMEOUT`. */
  readonly spans: readonly string[]
  leftovers(): Leftovers
}

/** Starts a run with everything watched: callbacks, clock, listeners. */
export function watched(agent: Agent): Watched {
  const clock = fakeClock()
  const controller = new AbortController()
  const parts: AgentEvent[] = []
  const spans: string[] = []
  const hooks = (name: string) => ({
    onStart: () => void spans.push(`+${name}`),
    onEnd: (_: unknown, { outcome }: { readonly outcome: string }) => void spans.push(`-${name} ${outcome}`),
    onError: (_: unknown, { code }: KernelError) => void spans.push(`-${name} ! ${code}`),
  })
  const watcher = { ...hooks('run'), onPart: (_: unknown, event: AgentEvent) => void parts.push(event) }
  const callbacks = [{ name: 'watcher', run: watcher, agent: hooks('agent') }]
  let reports = 0
  const report = () => void reports++
  const run = startRun(agent, input, { runId: 'R', clock, signal: controller.signal, callbacks, report })
  const leftovers = () => ({
    ends: countOf(typesOf(parts), 'run-end'),
    last: parts.at(-1)?.type,
    runSpans: countOf(spans, '-run'),
    openAgents: countOf(spans, '+agent') - countOf(spans, '-agent'),
    listeners: getEventListeners(controller.signal, 'abort').length,
    timers: clock.pending(),
    reports,
  })
  const begin = async (count: number) => {
    const iterator = run.eventsWithoutThrowing()[Symbol.asyncIterator]()
    for (let i = 0; i < count; i++) await iterator.next()
    return iterator
  }
  return { run, begin, clock, controller, parts, spans, leftovers }
}

/** Starts a run with a host; settings and members of the host are given together. */
export function startHosted(
  agent: Agent,
  start: StartInput,
  { open, around, cancelling, queueMs, ...settings }: RunSettings & RunHost,
): Run {
  const host = { open, around, cancelling, queueMs }
  return startRun(agent, start, settings, Object.fromEntries(Object.entries(host).filter(([, member]) => member)))
}
