import type { Interrupt } from '../data/action.ts'
import {
  type AgentEvent,
  byKernelAlone,
  type EventOf,
  type EventStamp,
  type Outcome,
  type RunResult,
} from '../data/event.ts'
import type { Json } from '../data/json.ts'
import { type ErrorInfo, KernelError } from '../data/kernel-error.ts'
import type { Message } from '../data/message.ts'
import { CLOSING } from '../engine/abort-state.ts'
import type { RunCore } from '../engine/run-core.ts'
import { inCallOrder, messageOf, unanswered } from '../history.ts'
import { handled, isGated, refused } from '../stream/channel.ts'
import type { Sink } from '../stream/sink.ts'
import { reorder } from './order-messages.ts'

type Draft<T> = { -readonly [K in keyof T]: T[K] }

const NONE: readonly string[] = []

/** The sink at the end of a run: passes every event on and collects the run's result. */
export class RunRecorder implements Sink<AgentEvent> {
  readonly #core: RunCore
  readonly #out: Sink<AgentEvent>
  #unanswered: Set<string> | undefined
  readonly #messages: Message[] = []
  /** The history that the run began with. */
  #before: readonly Message[] = []
  #outcome: Outcome = 'complete'
  #error: ErrorInfo | undefined
  /** By id, because a flow may pass on the questions of an agent inside it. */
  #interrupts: Map<string, Interrupt> | undefined
  /** Calls that run again when the questions are answered. */
  #runAgain: readonly string[] = NONE

  constructor(core: RunCore, out: Sink<AgentEvent>) {
    this.#core = core
    this.#out = out
    core.recorder = this
  }

  /** Reads the open calls and the kept result from the history. */
  expect(messages: readonly Message[]): void {
    this.#before = messages
    for (const { id } of unanswered(messages)) this.#waiting(id)
    this.#core.textAndOutput.expect(messages)
  }

  write(event: AgentEvent): void | Promise<void> {
    const core = this.#core
    if (core.ended) return refused(new KernelError('ABORTED', `run ${core.runId}: has ended`))
    if (core.abortState.error && !CLOSING.has(event.type)) return refused(core.abortState.error)
    if (event.runId === core.runId) {
      if (event.type === 'run-start' || event.type === 'run-end') {
        throw byKernelAlone(`run ${core.runId}`, event.type)
      }
    }
    return isGated(event) && !asks(event) ? this.#gate(event) : this.#show(event)
  }

  /** Contract: a gated event is recorded only after its gate has opened. A question is not gated: it counts as soon as it is shown. */
  #gate(event: AgentEvent): void | Promise<void> {
    const wait = this.#core.consumerLeft ? undefined : this.#out.write(event)
    const opened = () => {
      this.#core.abortState.throwIfAborted()
      this.#record(event)
    }
    return wait ? handled(wait.then(opened)) : opened()
  }

  begin(stamp: EventStamp): void | Promise<void> {
    return this.#show({ type: 'run-start', ...stamp })
  }

  #show(event: AgentEvent): void | Promise<void> {
    this.#record(event)
    return this.#core.consumerLeft ? undefined : this.#out.write(event)
  }

  #record(event: AgentEvent): void {
    if (event.runId !== this.#core.runId) return
    const message = messageOf(event)
    if (message) this.#messages.push(message)
    this.#update(event)
    this.#core.spans?.part(event)
  }

  order(ids: readonly string[]): void {
    reorder(this.#messages, ids)
  }

  /** Whether the agent has failed; a later error does not replace its error. */
  get failed(): boolean {
    return this.#outcome === 'failed'
  }

  /** Whether the agent has failed or asked a question, so that an abort does not decide the outcome. */
  get hasOutcome(): boolean {
    return this.failed || (this.#outcome === 'interrupted' && this.#interrupts !== undefined)
  }

  /** Closes all open ends and returns the result; later writes are refused. */
  finish(thrown: { readonly error: unknown } | undefined, stamp: EventStamp): RunResult<Json> {
    const core = this.#core
    let [outcome, error] = [this.#outcome, this.#error]
    if (thrown) {
      const concluded = core.conclude(thrown.error)
      outcome = concluded.outcome
      error = core.errors.infoOf(concluded.error)
    }
    if (!core.openEnds.isEmpty) {
      core.abortState.abort(
        error ? core.errors.errorOf(error) : new KernelError('ABORTED', 'run: ended while this was under way'),
      )
      core.closeOpenEnds()
    }
    if (core.state?.changed && !core.parent) this.write({ type: 'state-delta', ...stamp, ...core.state.take() })
    if (error && outcome === 'failed' && !core.errors.wasReported(core.errors.errorOf(error)))
      this.write({ type: 'error', ...stamp, error })
    core.end()
    return this.#result(outcome, error)
  }

  #result(outcome: Outcome, error: ErrorInfo | undefined): RunResult<Json> {
    const open = outcome === 'complete' || outcome === 'interrupted' ? this.#open() : []
    const { textAndOutput, usage } = this.#core
    const { output } = textAndOutput
    const text = textAndOutput.text(outcome === 'complete' && open.length === 0)
    const messages = inCallOrder(this.#messages, this.#before)
    const result: Draft<RunResult<Json>> = { outcome, text, messages, usage }
    if (output !== undefined) result.output = output
    if (error) result.error = error
    if (outcome === 'interrupted') result.interrupts = this.#asked()
    if (open.length > 0) result.openCallIds = open
    return result
  }

  #waiting(callId: string): void {
    this.#unanswered ??= new Set()
    this.#unanswered.add(callId)
  }

  #open(): readonly string[] {
    if (!this.#unanswered?.size) return []
    const asked = new Set([...this.#asked().map(({ callId }) => callId), ...this.#runAgain])
    return [...this.#unanswered].filter((callId) => !asked.has(callId))
  }

  #asked(): readonly Interrupt[] {
    return [...(this.#interrupts?.values() ?? [])]
  }

  #updateMessage(event: EventOf<'message-end'>): void {
    const { message, usage, dropped } = event
    if (usage) this.#core.addUsage(usage)
    this.#core.textAndOutput.update(event)
    if (dropped) return
    for (const { id } of message.toolCalls ?? []) this.#waiting(id)
  }

  #update(event: AgentEvent): void {
    switch (event.type) {
      case 'message-end':
        this.#updateMessage(event)
        return
      case 'tool-end':
        this.#unanswered?.delete(event.callId)
        this.#core.textAndOutput.update(event)
        return
      case 'action':
        this.#core.textAndOutput.update(event)
        if (event.action.type !== 'interrupt') return
        this.#interrupts ??= new Map()
        for (const interrupt of event.action.interrupts) this.#interrupts.set(interrupt.id, interrupt)
        if (event.action.callIds) this.#runAgain = [...this.#runAgain, ...event.action.callIds]
        return
      case 'error':
        this.#core.errors.markReported(event.error)
        return
      case 'agent-end':
        this.#outcome = event.outcome
        this.#error = event.error
        return
    }
  }
}

function asks(event: AgentEvent): boolean {
  return event.type === 'action' && event.action.type === 'interrupt'
}
