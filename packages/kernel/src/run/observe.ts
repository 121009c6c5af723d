import type { Agent, AgentInput, ResumeInfo } from '../agent/agent.ts'
import { JOURNAL } from '../agent/journal.ts'
import type { Span } from '../callback/callback.ts'
import type { RunContext } from '../context/context.ts'
import type { Answers, Interrupt } from '../data/action.ts'
import { checkAction } from '../data/check-action.ts'
import {
  type AgentEvent,
  byKernelAlone,
  type EventDraft,
  type EventOf,
  type EventStamp,
  eventKind,
  type Outcome,
} from '../data/event.ts'
import { got, isObject, KernelError } from '../data/kernel-error.ts'
import { CLOSING } from '../engine/abort-state.ts'
import { CallProgress } from '../engine/call-progress.ts'
import { internals, KernelContext } from '../engine/kernel-context.ts'
import type { OpenEnd } from '../engine/open-ends.ts'
import { handled, refused } from '../stream/channel.ts'
import { type Sink, sinkTo } from '../stream/sink.ts'
import { PIPE, type PipeStream, pipe, stream } from '../stream/stream.ts'
import { recordedAgent } from './recorded-agent.ts'

/**
 * Runs one agent with its span, stamps, `agent-start` and exactly one `agent-end`.
 * Contract: an error that the agent throws becomes one `error` event.
 * @example await pipe(observe(agent, { messages }, ctx.derive({ step: 'branch:0' })), sink)
 */
export function observe(agent: Agent, start: AgentInput | ResumeInfo, ctx: RunContext): PipeStream<AgentEvent> {
  checkAgent(agent)
  const outer = internals(ctx)
  return stream((sink) => {
    outer.core.abortState.throwIfAborted()
    if (!agent.observesItself) return new Observation(agent, start, outer, sink).run()
    const stamp = outer.core.ids.stamp(agent.name, outer.runPath)
    return pipe(
      begin(agent, start, outer),
      sinkTo(sink, (draft: EventDraft) => sink.write(stampedOnce(draft, stamp))),
    )
  })
}

/** Contract: throws `CONFIG_INVALID` for a value that is not an agent. */
export function checkAgent(agent: Agent): void {
  if (!isObject(agent) || typeof agent.run !== 'function') {
    throw new KernelError('CONFIG_INVALID', `agent: expected an object with name, description and run(), ${got(agent)}`)
  }
  if (typeof agent.name !== 'string' || agent.name === '') {
    throw new KernelError('CONFIG_INVALID', `agent: expected a name, ${got(agent.name)}`)
  }
}

/** Resumes the agent, or runs it from its start again if it has no `resume`; the answers are in its context. */
function begin(agent: Agent, start: AgentInput | ResumeInfo, ctx: RunContext): AsyncIterable<EventDraft> {
  const source = 'answers' in start && agent.resume ? agent.resume(start, ctx) : agent.run(start, ctx)
  if (isObject(source) && (Symbol.asyncIterator in source || PIPE in source)) return source
  throw new KernelError(
    'AGENT_FAILED',
    `agent ${agent.name}: run() must return an AsyncIterable of events, ${got(source)}`,
  )
}

/** The run of one agent: stamps its events and ends it exactly once. */
class Observation implements Sink<EventDraft>, OpenEnd {
  readonly spanId: string
  readonly #agent: Agent
  readonly #start: AgentInput | ResumeInfo
  readonly #ctx: KernelContext
  readonly #sink: Sink<AgentEvent>
  readonly #stamp: EventStamp
  /** The stamp of its beginning and end, with the iteration of a loop around it. */
  readonly #frame: EventStamp & { readonly iteration?: number }
  readonly answers?: Answers
  #asked: readonly Interrupt[] | undefined
  #span: Span<'agent'> | undefined
  #interrupted = false
  /** Set while it passes on the events of an agent of its own name. */
  #wraps = false
  /** How that agent ended. */
  #passedOn: EventOf<'agent-end'> | undefined
  #closed = false

  constructor(agent: Agent, start: AgentInput | ResumeInfo, outer: KernelContext, sink: Sink<AgentEvent>) {
    const { core, fields } = outer
    const { step } = fields
    this.spanId = `${core.runId}/${step || 'agent'}`
    this.#agent = agent
    this.#start = start
    this.#sink = sink
    if ('answers' in start) this.answers = start.answers
    const progress = new CallProgress(this, core.ids.originOf(step))
    const { runPath, state, signal, values, iteration } = fields
    // Written out because a spread is slower.
    const own = { agentName: agent.name, runPath, step, state, signal, values, progress, iteration, agent: this }
    this.#ctx = new KernelContext(core, own)
    this.#stamp = core.ids.stamp(agent.name, runPath)
    this.#frame = iteration === undefined ? this.#stamp : { ...this.#stamp, iteration }
  }

  get closed(): boolean {
    return this.#closed || (this.#sink.closed ?? false)
  }

  async run(): Promise<void> {
    const { core, fields } = this.#ctx
    core.openEnds.track(this)
    const position = fields.step || 'agent'
    this.#span = core.spans?.open(
      'agent',
      this.#agent.name,
      this.#agent.name,
      position,
      this.#start,
      `${core.runId}/run`,
    )
    let thrown: { readonly error: unknown } | undefined
    try {
      const wait = this.#sink.write({ type: 'agent-start', ...this.#frame })
      if (wait) await wait
      await pipe(this.#begin(), this)
    } catch (error) {
      thrown = { error }
    }
    const wait = this.#asked ? this.#ask(thrown) : this.#end(thrown)
    if (wait) await wait
  }

  /** Contract: under a journal, an agent that records no steps is one step. */
  #begin(): AsyncIterable<EventDraft> {
    const journal = this.#agent.recordsSteps ? undefined : this.#ctx.get(JOURNAL)
    if (!journal) return begin(this.#agent, this.#start, this.#ctx)
    return recordedAgent(journal, this.spanId, this.#ctx, (ctx) => begin(this.#agent, this.#start, ctx))
  }

  write(draft: EventDraft): void | Promise<void> {
    if (this.#closed) return refused(new KernelError('ABORTED', `agent ${this.#agent.name}: has ended`))
    const kind = eventKind(draft)
    const { signal } = this.#ctx.fields
    if (signal?.aborted && !CLOSING.has(draft.type)) return refused(this.#ctx.core.conclude(undefined, signal).error)
    if (kind !== 'content' && isSaidBy(draft, this.#stamp)) {
      if (isStamped(draft) && this.#passOn(draft)) return
      if (draft.type === 'error') throw this.#ctx.core.errors.errorOf(draft.error)
      if (draft.type !== 'action') throw byKernelAlone(`agent ${this.#agent.name}`, draft.type)
      checkAction(draft.action)
      this.#interrupted ||= draft.action.type === 'interrupt' && draft.action.interrupts.length > 0
    }
    return this.#show(stamped(draft, this.#stamp))
  }

  /** Takes the frame of an agent of the same name that was observed already, so that a wrapper begins and ends once. */
  #passOn(event: AgentEvent): boolean {
    if (event.type === 'agent-start') this.#wraps = true
    else if (!this.#wraps || (event.type !== 'error' && event.type !== 'agent-end')) return false
    if (event.type === 'agent-end') {
      this.#wraps = false
      this.#passedOn = event
    }
    return true
  }

  onInterrupt(interrupts: readonly Interrupt[]): void {
    this.#asked = [...(this.#asked ?? []), ...interrupts]
  }

  close(error: KernelError): void {
    this.#finish(this.#ctx.core.conclude(error).outcome, error)
  }

  #end(thrown: { readonly error: unknown } | undefined): void | Promise<void> {
    const { core, fields } = this.#ctx
    if (!thrown && !core.abortState.aborted && !fields.signal?.aborted) {
      const { outcome, error } = this.#passedOn ?? {}
      if (outcome && error) return this.#finish(outcome, core.errors.errorOf(error))
      return this.#finish(this.#interrupted ? 'interrupted' : 'complete', undefined)
    }
    const { outcome, error } = core.conclude(thrown?.error, fields.signal)
    return this.#finish(outcome, error)
  }

  /** Shows the open questions. They count even if the agent caught the error of `interrupt`. */
  async #ask(thrown: { readonly error: unknown } | undefined): Promise<void> {
    const { core, fields } = this.#ctx
    if (core.abortState.aborted || fields.signal?.aborted) return this.#end(thrown)
    if (core.cancelling?.()) return this.#end({ error: cancelledQuestion(this.#agent.name) })
    const action = { type: 'interrupt', interrupts: this.#asked ?? [] } as const
    try {
      const wait = this.#show({ type: 'action', ...this.#stamp, action })
      if (wait) await wait
      this.#interrupted = true
      await this.#end(undefined)
    } catch (error) {
      await this.#end({ error })
    }
  }

  #finish(outcome: Outcome, error: KernelError | undefined): void | Promise<void> {
    if (this.#closed) return
    const { core } = this.#ctx
    const info = error && core.errors.infoOf(error)
    const end: EventOf<'agent-end'> = info
      ? { type: 'agent-end', ...this.#frame, outcome, error: info }
      : { type: 'agent-end', ...this.#frame, outcome }
    const wait =
      info &&
      outcome === 'failed' &&
      !core.errors.wasReported(error) &&
      this.#show({ type: 'error', ...this.#stamp, error: info })
    const lastWait = this.#show(end)
    this.#closed = true
    core.openEnds.untrack(this)
    if (outcome === 'failed') this.#span?.fail(error)
    else this.#span?.end(end)
    // The agent has ended, whether or not its events are still read.
    if (wait) wait.catch(ignore)
    return lastWait?.catch(ignore)
  }

  /** Contract: a state change is written right before the event, with nothing between them. */
  #show(event: AgentEvent): void | Promise<void> {
    const { core, fields } = this.#ctx
    // If the reader of this agent has left, its last events still belong to the run.
    const sink = this.#sink.closed ? (core.recorder ?? this.#sink) : this.#sink
    if (!fields.state.changed) return sink.write(event)
    const before = sink.write({ type: 'state-delta', ...this.#stamp, ...fields.state.take() })
    const wait = sink.write(event)
    if (before) handled(before)
    return wait ?? before
  }
}

/** The error of a run that was asked to stop and has a question: it does not ask it any more. */
function cancelledQuestion(agentName: string): KernelError {
  return new KernelError('ABORTED', `agent ${agentName}: asked to stop, so it does not ask its question`)
}

/**
 * Whether an event is the agent's own, and not from an agent that it runs.
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

/** Stamps an event that its agent has not stamped itself. Contract: throws `EVENT_INVALID` for an unknown type. */
function stampedOnce(draft: EventDraft, stamp: EventStamp): AgentEvent {
  eventKind(draft)
  const { runId, agentName, runPath } = draft
  const complete = runId !== undefined && agentName !== undefined && runPath !== undefined
  return complete ? (draft as AgentEvent) : stamped(draft, stamp)
}

function isStamped(draft: EventDraft): draft is AgentEvent {
  return draft.runId !== undefined && draft.agentName !== undefined && draft.runPath !== undefined
}

/** Fills in the missing fields of a stamp. */
function stamped(draft: EventDraft, stamp: EventStamp): AgentEvent {
  const { runId, agentName, runPath, parentRunId, parentCallId, origin } = stamp
  if (isStamped(draft)) {
    // The draft comes first in the spread, which is faster than the other way round.
    return parentRunId === undefined || draft.parentRunId !== undefined
      ? draft
      : ({
          ...draft,
          parentRunId,
          parentCallId: draft.parentCallId ?? parentCallId,
          origin: draft.origin ?? origin,
        } as AgentEvent)
  }
  if (draft.runId === undefined && draft.agentName === undefined && parentRunId === undefined) {
    return { ...draft, runId, agentName, runPath: draft.runPath ?? runPath }
  }
  return { ...stamp, ...draft } as AgentEvent
}

function ignore(): void {}
