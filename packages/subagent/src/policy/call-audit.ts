import { type ErrorInfo, KernelError, type RunContext, type ToolOutput } from '@troupe/kernel'
import { toolResult } from '@troupe/kernel/kit'
import type { AuditEvent, AuditStamp, CallDecided, CallFinished } from './audit-event.ts'
import type { MessageBus } from './create-bus.ts'
import { jsonOf } from './json-copy.ts'

/** Publishes the audit events of one call. */
export class CallAudit {
  readonly #bus: MessageBus
  readonly #call: Omit<AuditStamp, 'at'>
  readonly #ctx: RunContext
  readonly #start: number
  #finished = false

  constructor(bus: MessageBus, call: Omit<AuditStamp, 'at'>, ctx: RunContext, text: string) {
    this.#bus = bus
    this.#call = call
    this.#ctx = ctx
    this.#start = ctx.clock.now()
    this.#publish({ type: 'requested', ...call, at: this.#start, arguments: text })
  }

  decided(decided: Omit<CallDecided, keyof AuditStamp | 'type'>): void {
    this.#publish({ type: 'decided', ...this.#call, at: this.#ctx.clock.now(), ...decided })
  }

  /** Records the call's result: the tool's own, or the refusal that the model gets instead. */
  returned(output: ToolOutput | void, refused: boolean): void {
    const { error } = toolResult(this.#call.tool, output)
    this.#finish(refused ? 'denied' : error ? 'failed' : 'complete', error)
  }

  threw(thrown: unknown): void {
    const error = KernelError.from(thrown, 'TOOL_FAILED')
    if (error.code === 'INTERRUPTED') this.#finish('interrupted')
    else if (error.code === 'ABORTED' || (!KernelError.is(thrown) && this.#ctx.signal.aborted)) this.#finish('aborted')
    else this.#finish('failed', error.toJSON())
  }

  /** Records that the reader of a stream has stopped; does nothing if the stream has ended. */
  readerLeft(): void {
    this.#finish('aborted')
  }

  #finish(status: CallFinished['status'], error?: ErrorInfo): void {
    if (this.#finished) return
    this.#finished = true
    const now = this.#ctx.clock.now()
    const durationMs = now - this.#start
    this.#publish({
      type: 'finished',
      ...this.#call,
      at: now,
      status,
      durationMs,
      ...(error && { error: jsonOf(error) as ErrorInfo }),
    })
  }

  #publish(event: AuditEvent): void {
    this.#bus.publish('audit', Object.freeze(event))
  }
}
