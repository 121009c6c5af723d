import { type ErrorInfo, JOURNAL, KernelError, type RunContext, type ToolOutput } from '@troupe/kernel'
import { toolResult } from '@troupe/kernel/kit'
import type { AuditEvent, AuditStamp, CallDecided, CallFinished } from './audit-event.ts'
import type { MessageBus } from './create-bus.ts'
import { jsonOf } from './json-copy.ts'

/**
 * Publishes the audit events of one call.
 * Contract: the call of an agent is made again when its run goes on after a crash; what was published before is not published again.
 */
export class CallAudit {
  readonly #bus: MessageBus
  readonly #call: Omit<AuditStamp, 'at'>
  readonly #ctx: RunContext
  /** Whether the call has a journal: it runs agents, whose steps are recorded instead of it. */
  readonly #recorded: boolean
  #start: number
  #published: Promise<unknown> | undefined
  #finished = false

  constructor(bus: MessageBus, call: Omit<AuditStamp, 'at'>, ctx: RunContext, text: string) {
    this.#bus = bus
    this.#call = call
    this.#ctx = ctx
    this.#recorded = ctx.get(JOURNAL) !== undefined
    this.#start = ctx.clock.now()
    void this.#publish({ type: 'requested', ...call, at: this.#start, arguments: text })
  }

  decided(decided: Omit<CallDecided, keyof AuditStamp | 'type'>): void {
    void this.#publish({ type: 'decided', ...this.#call, at: this.#ctx.clock.now(), ...decided })
  }

  /** Records the call's result: the tool's own, or the refusal that the model gets instead. */
  returned(output: ToolOutput | void, refused: boolean): void | Promise<void> {
    const { error } = toolResult(this.#call.tool, output)
    return this.#finish(refused ? 'denied' : error ? 'failed' : 'complete', error)
  }

  threw(thrown: unknown): void | Promise<void> {
    const error = KernelError.from(thrown, 'TOOL_FAILED')
    if (error.code === 'INTERRUPTED') return this.#finish('interrupted')
    if (error.code === 'ABORTED' || (!KernelError.is(thrown) && this.#ctx.signal.aborted)) {
      return this.#finish('aborted')
    }
    return this.#finish('failed', error.toJSON())
  }

  /** Records that the reader of a stream has stopped; does nothing if the stream has ended. */
  readerLeft(): void | Promise<void> {
    return this.#finish('aborted')
  }

  #finish(status: CallFinished['status'], error?: ErrorInfo): void | Promise<void> {
    if (this.#finished) return
    this.#finished = true
    const publish = () => {
      const now = this.#ctx.clock.now()
      const durationMs = now - this.#start
      const info = error && { error: jsonOf(error) as ErrorInfo }
      return this.#publish({ type: 'finished', ...this.#call, at: now, status, durationMs, ...info })
    }
    return this.#published ? this.#published.then(publish) : publish()
  }

  #publish(event: AuditEvent): void | Promise<void> {
    const publish = () => this.#bus.publish('audit', Object.freeze(event))
    if (!this.#recorded) return publish()
    const performed = this.#perform(event, publish)
    this.#published = this.#published ? Promise.all([this.#published, performed]) : performed
    return performed
  }

  /** Contract: never rejects; a journal that fails ends the run at its next step. */
  async #perform({ type, at }: AuditEvent, publish: () => void): Promise<void> {
    const work = async () => {
      publish()
      return at
    }
    try {
      const publishedAt = await this.#ctx.perform(`audit:${type}`, work)
      if (type === 'requested') this.#start = publishedAt
    } catch {
      // A run that goes no further than its journal publishes nothing.
    }
  }
}
