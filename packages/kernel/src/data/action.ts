import type { Json, JsonObject } from './json.ts'
import type { JsonSchema } from './schema.ts'

/** A question that a tool, handler or agent asks a person. */
export type InterruptRequest = {
  /** The kind of question: `approval`, `input`, `tool-result`, or your own. */
  readonly reason: string
  readonly message?: string
  /** Contract: the answer is validated against it before the run is resumed. */
  readonly responseSchema?: JsonSchema
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number
  readonly metadata?: JsonObject
  /** Tells apart questions that are otherwise equal. */
  readonly key?: string
}

/**
 * An open question.
 * Contract: `id` is `<origin>#<fingerprint>`. The origin is the call id, or the step outside a call; in a nested run it stands under the calls around it.
 * The fingerprint is that of who asks (agent, and hook of a handler) and what is asked (`reason`, `message`, `responseSchema`, `metadata` and `key`); a question
 * that is asked once more in the same call ends with `.2`, `.3`. So an answer can reach only the question that was shown, whatever else is asked when the call runs again.
 */
export type Interrupt = InterruptRequest & {
  readonly id: string
  readonly agentName: string
  /** The call that waits in this run; for a question of a nested run, the call around it. */
  readonly callId?: string
}

/** The answer to an interrupt of reason `approval`. */
export type ApprovalAnswer = { readonly approved: boolean; readonly arguments?: string; readonly message?: string }
/** The schema of an answer to an approval, for `responseSchema`. */
export const APPROVAL_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, arguments: { type: 'string' }, message: { type: 'string' } },
  required: ['approved'],
}
/** Answers by interrupt id. */
export type Answers = { readonly [interruptId: string]: Json }
/** A request of an agent for the next step; the flow around it decides. */
export type AgentAction =
  | { readonly type: 'transfer-to-agent'; readonly agentName: string }
  | { readonly type: 'exit'; readonly result?: Json }
  /** Contract: `state` is what `resume` gets back; Runner stores it and takes it out before a consumer sees the event. Without interrupts it marks an agent that awaits the results of open calls. */
  | {
      readonly type: 'interrupt'
      readonly interrupts: readonly Interrupt[]
      readonly state?: Json
      /** Calls that run again with the agent, besides those that ask: they await no result from outside. */
      readonly callIds?: readonly string[]
    }
  | { readonly type: 'break-loop' }
  | { readonly type: 'custom'; readonly name: string; readonly data?: Json }
