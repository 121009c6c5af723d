import type { Interrupt } from '../data/action.ts'
import { type ErrorInfo, KernelError } from '../data/error.ts'
import type { AgentEvent, EventStamp, Outcome, RunResult } from '../data/event.ts'
import type { Json } from '../data/json.ts'
import { type Message, textOf } from '../data/message.ts'
import { openCalls } from '../history.ts'
import { isGated, refused } from '../stream/channel.ts'
import type { Sink } from '../stream/stream.ts'
import type { RunCore } from './run-core.ts'

/** The run's own end of the stream: hands every event on and knows at any time what the run has come to. */
export class RunRecorder implements Sink<AgentEvent> {
  readonly #core: RunCore
  readonly #out: Sink<AgentEvent>
  #unanswered: Set<string> | undefined
  #over = false
  #outcome: Outcome = 'complete'
  #error: ErrorInfo | undefined
  #message = ''
  /** The text of a tool result that no message has followed. */
  #direct: string | undefined
  #output: Json | undefined
  #interrupts: Interrupt[] = []

  constructor(core: RunCore, out: Sink<AgentEvent>, messages: readonly Message[]) {
    this.#core = core
    this.#out = out
    for (const { id } of openCalls(messages)) this.#waiting(id)
  }

  write(event: AgentEvent): void | Promise<void> {
    if (this.#over || (this.#core.left && isGated(event))) return refused()
    if (event.runId === this.#core.runId) {
      this.#record(event)
      this.#core.part(event)
    }
    if (!this.#core.left) return this.#out.write(event)
    return isClosing(event) ? undefined : refused()
  }

  /** Ends the recording: whoever owes a terminal pays now, and later writes are refused. */
  finish(thrown: { readonly error: unknown } | undefined, stamp: EventStamp): RunResult<Json> {
    const core = this.#core
    let [outcome, error] = [this.#outcome, this.#error]
    if (thrown) {
      const concluded = core.conclude(thrown.error)
      outcome = concluded.outcome
      error = concluded.error.toJSON()
    }
    if (core.debtors.size > 0) {
      core.abort(error ? KernelError.from(error) : new KernelError('ABORTED', 'run: ended while this was under way'))
      const reason = core.conclude(undefined).error
      for (const debtor of [...core.debtors].reverse()) debtor.abandon(reason)
    }
    if (error && outcome === 'failed' && core.tells(error)) this.write({ type: 'error', ...stamp, error })
    this.#over = true
    return this.#result(outcome, error)
  }

  #result(outcome: Outcome, error: ErrorInfo | undefined): RunResult<Json> {
    const open = outcome === 'complete' || outcome === 'interrupted' ? this.#open() : []
    const direct = outcome === 'complete' && open.length === 0 ? this.#direct : undefined
    return {
      outcome,
      text: direct ?? this.#message,
      ...(this.#output !== undefined && { output: this.#output }),
      usage: this.#core.usage,
      ...(error && { error }),
      ...(outcome === 'interrupted' && { interrupts: this.#interrupts }),
      ...(open.length > 0 && { openCallIds: open }),
    }
  }

  #waiting(callId: string): void {
    this.#unanswered ??= new Set()
    this.#unanswered.add(callId)
  }

  #open(): readonly string[] {
    if (!this.#unanswered?.size) return []
    const asked = new Set(this.#interrupts.map(({ callId }) => callId))
    return [...this.#unanswered].filter((callId) => !asked.has(callId))
  }

  #record(event: AgentEvent): void {
    switch (event.type) {
      case 'message-end':
        if (event.usage) this.#core.addUsage(event.usage)
        if (event.dropped) return
        this.#message = textOf(event.message.content)
        this.#direct = undefined
        for (const { id } of event.message.toolCalls ?? []) this.#waiting(id)
        return
      case 'tool-end':
        this.#unanswered?.delete(event.callId)
        if (event.status !== 'dropped') this.#direct = textOf(event.content)
        return
      case 'action':
        if (event.action.type === 'exit') this.#output = event.action.result
        if (event.action.type === 'interrupt') this.#interrupts.push(...event.action.interrupts)
        return
      case 'agent-end':
        this.#outcome = event.outcome
        this.#error = event.error
        return
    }
  }
}

/** What is accepted after the consumer left, so that nobody who ends properly is stopped. */
function isClosing({ type }: AgentEvent): boolean {
  return type === 'agent-end' || type === 'error' || type === 'state-delta'
}
