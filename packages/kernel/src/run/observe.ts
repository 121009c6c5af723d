import type { Agent, AgentInput, ResumeInfo } from '../agent/agent.ts'
import type { RunContext } from '../context/context.ts'
import { internals, KernelContext } from '../context/kernel-context.ts'
import { checkAction, Scope, type ScopeSource } from '../context/scope.ts'
import type { Answers, Interrupt } from '../data/action.ts'
import { got, isObject, KernelError } from '../data/error.ts'
import {
  type AgentEnd,
  type AgentEvent,
  byKernelAlone,
  type EventDraft,
  type EventStamp,
  eventKind,
  type Outcome,
} from '../data/event.ts'
import { handled, refused } from '../stream/channel.ts'
import { PIPE, type PipeStream, pipe, type Sink, sinkTo, stream } from '../stream/stream.ts'
import type { Span } from './callback.ts'
import { CLOSING, type Debtor } from './run-core.ts'

/**
 * One agent run with its span, stamps, `agent-start` and one `agent-end`.
 * Contract: what the agent throws becomes one `error` event.
 * @example await pipe(observe(child, input, ctx.derive({ step: 'branch:0' })), sink)
 */
export function observe(agent: Agent, start: AgentInput | ResumeInfo, ctx: RunContext): PipeStream<AgentEvent> {
  checkAgent(agent)
  const outer = internals(ctx)
  return stream((sink) => {
    outer.core.throwIfAborted()
    if (!agent.observesItself) return new Observation(agent, start, outer, sink).run()
    const stamp = outer.core.stamp(agent.name, outer.runPath)
    const write = (draft: EventDraft) => {
      eventKind(draft)
      return sink.write(stamped(draft, stamp))
    }
    return pipe(begin(agent, start, outer), sinkTo(sink, write))
  })
}

/** Contract: throws `CONFIG_INVALID` for what is no agent. */
export function checkAgent(agent: Agent): void {
  if (!isObject(agent) || typeof agent.run !== 'function') {
    throw new KernelError('CONFIG_INVALID', `agent: expected an object with name, description and run(), ${got(agent)}`)
  }
  if (typeof agent.name !== 'string' || agent.name === '') {
    throw new KernelError('CONFIG_INVALID', `agent: expected a name, ${got(agent.name)}`)
  }
}

/** An agent that was interrupted and cannot resume runs again from its start, and finds its answers there. */
function begin(agent: Agent, start: AgentInput | ResumeInfo, ctx: RunContext): AsyncIterable<EventDraft> {
  const source = 'answers' in start && agent.resume ? agent.resume(start, ctx) : agent.run(start, ctx)
  if (isObject(source) && (Symbol.asyncIterator in source || PIPE in source)) return source
  throw new KernelError('AGENT_FAILED', `agent ${agent.name}: run() returns an AsyncIterable of events, ${got(source)}`)
}

/** One agent's turn to speak: stamps what it says and sees to it that it ends once. */
class Observation implements Sink<EventDraft>, ScopeSource, Debtor {
  readonly spanId: string
  readonly #agent: Agent
  readonly #start: AgentInput | ResumeInfo
  readonly #ctx: KernelContext
  readonly #sink: Sink<AgentEvent>
  readonly #stamp: EventStamp
  readonly answers?: Answers
  #asked: readonly Interrupt[] | undefined
  #span: Span<'agent'> | undefined
  #interrupted = false
  #closed = false

  constructor(agent: Agent, start: AgentInput | ResumeInfo, outer: KernelContext, sink: Sink<AgentEvent>) {
    const { core, place } = outer
    const { step } = place
    this.spanId = `${core.runId}/${step || 'agent'}`
    this.#agent = agent
    this.#start = start
    this.#sink = sink
    if ('answers' in start) this.answers = start.answers
    const scope = new Scope(this, core.within(step))
    this.#ctx = new KernelContext(core, { ...place, agentName: agent.name, scope, agent: this })
    this.#stamp = core.stamp(agent.name, place.runPath)
  }

  get closed(): boolean {
    return this.#closed || (this.#sink.closed ?? false)
  }

  async run(): Promise<void> {
    const { core, place } = this.#ctx
    core.owe(this)
    const position = place.step || 'agent'
    this.#span = core.openSpan('agent', this.#agent.name, position, this.#start, `${core.runId}/run`)
    let thrown: { readonly error: unknown } | undefined
    try {
      const parentRunId = core.parent?.core.runId
      const start = parentRunId === undefined ? this.#stamp : { ...this.#stamp, parentRunId }
      const wait = this.#sink.write({ type: 'agent-start', ...start })
      if (wait) await wait
      await pipe(begin(this.#agent, this.#start, this.#ctx), this)
    } catch (error) {
      thrown = { error }
    }
    const wait = this.#asked ? this.#ask(thrown) : this.#end(thrown)
    if (wait) await wait
  }

  write(draft: EventDraft): void | Promise<void> {
    if (this.#closed) return refused(new KernelError('ABORTED', `agent ${this.#agent.name}: has ended`))
    const kind = eventKind(draft)
    const { signal } = this.#ctx.place
    if (signal?.aborted && !CLOSING.has(draft.type)) return refused(this.#ctx.core.conclude(undefined, signal).error)
    if (kind !== 'content' && isSaidBy(draft, this.#stamp)) {
      if (draft.type === 'error') throw KernelError.from(draft.error)
      if (draft.type !== 'action') throw byKernelAlone(`agent ${this.#agent.name}`, draft.type)
      checkAction(draft.action)
      this.#interrupted ||= draft.action.type === 'interrupt' && draft.action.interrupts.length > 0
    }
    return this.#tell(stamped(draft, this.#stamp))
  }

  onInterrupt(interrupts: readonly Interrupt[]): void {
    this.#asked = [...(this.#asked ?? []), ...interrupts]
  }

  abandon(error: KernelError): void {
    this.#close(this.#ctx.core.conclude(error).outcome, error)
  }

  #end(thrown: { readonly error: unknown } | undefined): void | Promise<void> {
    const { core, place } = this.#ctx
    if (!thrown && !core.aborted && !place.signal?.aborted) {
      return this.#close(this.#interrupted ? 'interrupted' : 'complete', undefined)
    }
    const { outcome, error } = core.conclude(thrown?.error, place.signal)
    return this.#close(outcome, error)
  }

  /** What was asked counts, whatever the agent made of it. */
  async #ask(thrown: { readonly error: unknown } | undefined): Promise<void> {
    const { core, place } = this.#ctx
    if (core.aborted || place.signal?.aborted) return this.#end(thrown)
    const action = { type: 'interrupt', interrupts: this.#asked ?? [] } as const
    try {
      const wait = this.#tell({ type: 'action', ...this.#stamp, action })
      if (wait) await wait
      this.#interrupted = true
      await this.#end(undefined)
    } catch (error) {
      await this.#end({ error })
    }
  }

  #close(outcome: Outcome, error: KernelError | undefined): void | Promise<void> {
    if (this.#closed) return
    const { core } = this.#ctx
    const info = error?.toJSON()
    const end: AgentEnd = info
      ? { type: 'agent-end', ...this.#stamp, outcome, error: info }
      : { type: 'agent-end', ...this.#stamp, outcome }
    const wait =
      info && outcome === 'failed' && !core.hasTold(info) && this.#tell({ type: 'error', ...this.#stamp, error: info })
    const lastWait = this.#tell(end)
    this.#closed = true
    core.pay(this)
    if (outcome === 'failed') this.#span?.fail(error)
    else this.#span?.end(end)
    // The agent is done whether or not somebody still reads.
    if (wait) wait.catch(ignore)
    return lastWait?.catch(ignore)
  }

  /** Contract: a change of state comes before the event, in the same step, so that nothing gets between them. */
  #tell(event: AgentEvent): void | Promise<void> {
    const { core, place } = this.#ctx
    // Whoever read this agent may have left; what ends it still belongs into the run.
    const sink = this.#sink.closed ? (core.recorder ?? this.#sink) : this.#sink
    if (!place.state.changed) return sink.write(event)
    const before = sink.write({ type: 'state-delta', ...this.#stamp, ...place.state.take() })
    const wait = sink.write(event)
    if (before) handled(before)
    return wait ?? before
  }
}

/**
 * Whether an agent has said it itself, and not one that it runs inside.
 * @example if (event.type === 'action' && isSaidBy(event, ctx)) steer(event.action)
 */
export function isSaidBy(
  { runId, agentName, runPath }: EventDraft,
  own: Pick<EventStamp, 'runId' | 'agentName' | 'runPath'>,
): boolean {
  return (
    (runId ?? own.runId) === own.runId &&
    (agentName ?? own.agentName) === own.agentName &&
    (runPath === undefined || runPath === own.runPath || runPath.join('\0') === own.runPath.join('\0'))
  )
}

/** Fills in what is left out of a stamp. */
function stamped(draft: EventDraft, stamp: EventStamp): AgentEvent {
  const { runId, agentName, runPath, parentCallId } = stamp
  if (draft.runId !== undefined && draft.agentName !== undefined && draft.runPath !== undefined) {
    return parentCallId === undefined || draft.parentCallId !== undefined
      ? (draft as AgentEvent)
      : ({ ...draft, parentCallId } as AgentEvent)
  }
  if (draft.runId === undefined && draft.agentName === undefined && parentCallId === undefined) {
    return { ...draft, runId, agentName, runPath: draft.runPath ?? runPath }
  }
  return { ...stamp, ...draft } as AgentEvent
}

function ignore(): void {}
