import type { ErrorInfo } from '@troupe/kernel'

const BUSY = 'The model is busy. Try again later.'
const UNAVAILABLE = 'The store is unavailable. Try again later.'
const TEXTS: ReadonlyMap<string, string> = new Map([
  ['ABORTED', 'The run was cancelled.'],
  ['ANSWER_TOO_LARGE', 'The answer of the model is too long.'],
  ['EXECUTION_LIMIT', 'Too many runs at once.'],
  ['INTERRUPT_EXPIRED', 'The time limit for this answer has passed.'],
  ['INTERRUPT_UNKNOWN', 'This conversation has no such open question.'],
  ['LEASE_LOST', 'Another run has taken over this conversation.'],
  ['MAX_ITERATIONS', 'The agent exceeded its step limit.'],
  ['MODEL_CONTEXT_EXCEEDED', 'The conversation is too long for the model.'],
  ['MODEL_FAILED', 'The model could not answer.'],
  ['MODEL_OVERLOADED', BUSY],
  ['MODEL_RATE_LIMITED', BUSY],
  ['NOT_FOUND', 'There is no such conversation. Leave out thread to begin a new one.'],
  ['OUTCOME_UNKNOWN', 'The process of this call is gone, so its outcome is unknown.'],
  ['PENDING_TOOL_CALLS', 'This conversation has open tool calls or questions. Answer them first.'],
  ['RESULT_TOO_LARGE', 'The result is too large.'],
  ['RUN_TOO_LARGE', 'The run exceeded its size limit.'],
  ['SERVER_STOPPING', 'The server is stopping. Try again.'],
  ['STORE_BUSY', UNAVAILABLE],
  ['STORE_FULL', 'The store is full.'],
  ['STORE_READ_ONLY', 'The store cannot be written now.'],
  ['STORE_UNAVAILABLE', UNAVAILABLE],
  ['THREAD_BUSY', 'Another run is active in this conversation.'],
  ['TIMEOUT', 'The run exceeded its time limit.'],
  ['TRANSFER_LIMIT', 'The agents exceeded their transfer limit.'],
  ['USER_LIMIT', 'Too many runs of this user at once.'],
])

/** Whether clients may know the code of an error. */
export function isPublic(code: string): boolean {
  return TEXTS.has(code)
}

/** What a client gets of an error. Contract: a known code and its text, otherwise `AGENT_ERROR`; never the text of the error itself. */
export function publicError({ code }: Pick<ErrorInfo, 'code'>): { readonly code: string; readonly message: string } {
  const message = TEXTS.get(code)
  return message === undefined ? { code: 'AGENT_ERROR', message: 'The agent failed.' } : { code, message }
}
