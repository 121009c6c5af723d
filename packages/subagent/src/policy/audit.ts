import {
  type ErrorInfo,
  KernelError,
  type RunContext,
  type ToolCallInput,
  type ToolKind,
  type ToolOutput,
} from '@troupe/kernel'
import { toolResult } from '@troupe/kernel/kit'
import { jsonOf } from './arguments.ts'
import type { MessageBus } from './bus.ts'
import type { PolicyEffect } from './rule.ts'

/** The source of the final decision on a call: a rule, the default, a live listener, the answer to an interrupt, or `nobody` if no one could be asked or the answer was unusable. */
export type DecidedBy = 'rule' | 'default' | 'listener' | 'answer' | 'nobody'

/** Identifies a call in every audit event. */
export type AuditStamp = {
  /** The call id; in a nested run it is preceded by the ids of the calls around it. */
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

/** Reports that a call was made. */
export type CallRequested = AuditStamp & { readonly type: 'requested'; readonly arguments: string }

/** Reports whether the call may run. */
export type CallDecided = AuditStamp & {
  readonly type: 'decided'
  readonly effect: 'allow' | 'deny'
  /** The effect of the rules; also `ask` if the tool itself needs approval. */
  readonly rules: PolicyEffect
  readonly by: DecidedBy
  /** The index of the rule. */
  readonly rule?: number
  readonly message?: string
  /** The arguments as the person who approved has changed them. */
  readonly arguments?: string
}

/** Reports the end of an attempt; one that waits for an answer is `interrupted` and will be requested again. */
export type CallFinished = AuditStamp & {
  readonly type: 'finished'
  readonly status: 'complete' | 'failed' | 'denied' | 'interrupted' | 'aborted'
  readonly durationMs: number
  readonly error?: ErrorInfo
}

/** The audit events of a call, in this order. Contract: plain JSON. */
export type AuditEvent = CallRequested | CallDecided | CallFinished

/** The caller and its tool, the same for all calls of a guarded tool. */
export interface CallerTool {
  readonly agent: string
  readonly tool: string
  readonly kind: ToolKind
}

/** Makes a call id that is unique in the thread. */
export function uniqueCallId({ origin }: RunContext, { callId }: ToolCallInput): string {
  return origin === '' ? callId : `${origin}/${callId}`
}

/** Publishes the audit events of one call. */
export class CallAudit {
  readonly #bus: MessageBus
  readonly #callerTool: CallerTool
  readonly #ctx: RunContext
  readonly #call: ToolCallInput
  readonly #start: number
  #finished = false

  constructor(bus: MessageBus, callerTool: CallerTool, ctx: RunContext, call: ToolCallInput) {
    this.#bus = bus
    this.#callerTool = callerTool
    this.#ctx = ctx
    this.#call = call
    this.#start = ctx.clock.now()
    this.#publish({ type: 'requested', ...this.#stamp(this.#start), arguments: call.arguments })
  }

  decided(decided: Omit<CallDecided, keyof AuditStamp | 'type'>): void {
    this.#publish({ type: 'decided', ...this.#stamp(this.#ctx.clock.now()), ...decided })
  }

  /** Records the call's result: the tool's own, or the refusal that the model gets instead. */
  returned(output: ToolOutput | void, refused: boolean): void {
    const { error } = toolResult(this.#callerTool.tool, output)
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
      ...this.#stamp(now),
      status,
      durationMs,
      ...(error && { error: jsonOf(error) as ErrorInfo }),
    })
  }

  #stamp(at: number): AuditStamp {
    const { callId } = this.#call
    return { id: uniqueCallId(this.#ctx, this.#call), callId, runId: this.#ctx.runId, ...this.#callerTool, at }
  }

  #publish(event: AuditEvent): void {
    this.#bus.publish('audit', Object.freeze(event))
  }
}
