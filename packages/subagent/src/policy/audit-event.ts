import type { ErrorInfo, ToolKind } from '@troupe/kernel'
import type { PolicyEffect } from './rule.ts'

/** The source of the final decision on a call: a rule, the default, a grant, a live listener, the answer to an interrupt, or `nobody` if no one could be asked or the answer was unusable. */
export type DecidedBy = 'rule' | 'default' | 'grant' | 'listener' | 'answer' | 'nobody'

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
