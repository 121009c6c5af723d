import {
  type ErrorInfo,
  KernelError,
  type RunContext,
  type ToolCallInput,
  type ToolKind,
  type ToolOutput,
  toolResult,
} from '@troupe/kernel'
import { jsonOf } from './arguments.ts'
import type { MessageBus } from './bus.ts'
import type { PolicyEffect } from './rule.ts'

/** Who had the last word on a call: a rule, the default, a live listener, the answer to an interrupt, or nobody, because nobody could be asked or what was said cannot be followed. */
export type DecidedBy = 'rule' | 'default' | 'listener' | 'answer' | 'nobody'

/** Where and whose a call is. */
export type AuditStamp = {
  /** The call id, in a nested run under the calls around it. */
  readonly id: string
  readonly callId: string
  readonly runId: string
  /** The identity of the caller: `a/b`. */
  readonly agent: string
  readonly tool: string
  readonly kind: ToolKind
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** A call was made. */
export type CallRequested = AuditStamp & { readonly type: 'requested'; readonly arguments: string }

/** It is known whether it may run. */
export type CallDecided = AuditStamp & {
  readonly type: 'decided'
  readonly effect: 'allow' | 'deny'
  /** What the rules said; `ask` also where the tool asked for approval by itself. */
  readonly rules: PolicyEffect
  readonly by: DecidedBy
  /** The index of the rule. */
  readonly rule?: number
  readonly message?: string
  /** What whoever was asked made of the arguments. */
  readonly arguments?: string
}

/** An attempt is over; one that waits for an answer is `interrupted` and will be requested again. */
export type CallFinished = AuditStamp & {
  readonly type: 'finished'
  readonly status: 'complete' | 'failed' | 'denied' | 'interrupted' | 'aborted'
  readonly durationMs: number
  readonly error?: ErrorInfo
}

/** What an audit hears of every call, in this order. Contract: plain JSON. */
export type AuditEvent = CallRequested | CallDecided | CallFinished

/** The caller and the tool, which are the same for all calls of a guarded tool. */
export interface Seat {
  readonly agent: string
  readonly tool: string
  readonly kind: ToolKind
}

/** A call id that is unique in the thread. */
export function placeOf({ origin }: RunContext, { callId }: ToolCallInput): string {
  return origin === '' ? callId : `${origin}/${callId}`
}

/** Tells the audit about one call. Contract: costs nothing while nobody listens. */
export class Trail {
  readonly #bus: MessageBus
  readonly #seat: Seat
  readonly #ctx: RunContext
  readonly #call: ToolCallInput
  readonly #start: number
  #over = false

  constructor(bus: MessageBus, seat: Seat, ctx: RunContext, call: ToolCallInput) {
    this.#bus = bus
    this.#seat = seat
    this.#ctx = ctx
    this.#call = call
    this.#start = ctx.clock.now()
    this.#tell({ type: 'requested', ...this.#stamp(this.#start), arguments: call.arguments })
  }

  decided(decided: Omit<CallDecided, keyof AuditStamp | 'type'>): void {
    this.#tell({ type: 'decided', ...this.#stamp(this.#ctx.clock.now()), ...decided })
  }

  /** The call has a result: its own, or what the model is told instead. */
  returned(output: ToolOutput | void, refused: boolean): void {
    const { error } = toolResult(this.#seat.tool, output)
    this.#finish(refused ? 'denied' : error ? 'failed' : 'complete', error)
  }

  threw(thrown: unknown): void {
    const error = KernelError.from(thrown, 'TOOL_FAILED')
    if (error.code === 'INTERRUPTED') this.#finish('interrupted')
    else if (error.code === 'ABORTED' || (!KernelError.is(thrown) && this.#ctx.signal.aborted)) this.#finish('aborted')
    else this.#finish('failed', error.toJSON())
  }

  /** Whoever read a stream has gone, if it has not ended by itself. */
  left(): void {
    this.#finish('aborted')
  }

  #finish(status: CallFinished['status'], error?: ErrorInfo): void {
    if (this.#over) return
    this.#over = true
    const now = this.#ctx.clock.now()
    const durationMs = now - this.#start
    this.#tell({
      type: 'finished',
      ...this.#stamp(now),
      status,
      durationMs,
      ...(error && { error: jsonOf(error) as ErrorInfo }),
    })
  }

  #stamp(at: number): AuditStamp {
    const { callId } = this.#call
    return { id: placeOf(this.#ctx, this.#call), callId, runId: this.#ctx.runId, ...this.#seat, at }
  }

  #tell(event: AuditEvent): void {
    this.#bus.tell('audit', Object.freeze(event))
  }
}
