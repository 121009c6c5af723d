import type { InterruptRequest, Json, JsonSchema, ToolCallResult } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'

/** A person's word on a call that broke off: whether it was carried out, and with which result. */
const OUTCOME_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { done: { type: 'boolean' }, result: { type: 'string' } },
  required: ['done'],
}

/** The question what became of a call that may have been carried out before its process died. */
export function outcomeRequest(name: string, displayName: string, args: string): InterruptRequest {
  return {
    reason: 'unknown-outcome',
    message: `${displayName} may have been carried out before the run broke off. Was it?`,
    responseSchema: OUTCOME_SCHEMA,
    metadata: { tool: name, arguments: args },
  }
}

/** The result of a call that a person says was carried out; undefined if it has to run. */
export function outcomeOf(answer: Json): ToolCallResult | undefined {
  const { done, result = UNKNOWN_RESULT } = (answer ?? {}) as { readonly done?: boolean; readonly result?: string }
  return done === true ? { content: result } : undefined
}
