import { EventType, type RunErrorEvent } from '@ag-ui/core'
import type { ErrorInfo, Usage } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import { usageOf } from './outcome-of.ts'

/** The part of an error that clients may see. */
export type PublicError = { readonly code: string; readonly message: string }

const BUSY = 'The model is busy. Try again later.'
const UNAVAILABLE = 'The store is unavailable. Try again later.'
const PUBLIC: ReadonlyMap<string, PublicError> = new Map(
  [
    { code: 'ABORTED', message: 'The run was cancelled.' },
    { code: 'ANSWER_TOO_LARGE', message: 'The answer of the model is too long.' },
    { code: 'BUDGET_EXCEEDED', message: 'The budget is spent.' },
    { code: 'GUARDRAIL_REFUSED', message: 'The answer was refused.' },
    { code: 'INTERRUPT_EXPIRED', message: 'The time limit for this answer has passed.' },
    { code: 'INTERRUPT_UNKNOWN', message: 'This conversation has no such open question.' },
    { code: 'LEASE_LOST', message: 'Another run has taken over this conversation.' },
    { code: 'MAX_ITERATIONS', message: 'The agent exceeded its step limit.' },
    { code: 'MODEL_CONTEXT_EXCEEDED', message: 'The conversation is too long for the model.' },
    { code: 'MODEL_FAILED', message: 'The model could not answer.' },
    { code: 'MODEL_OVERLOADED', message: BUSY },
    { code: 'MODEL_RATE_LIMITED', message: BUSY },
    { code: 'NOT_FOUND', message: 'Not found.' },
    { code: 'PENDING_TOOL_CALLS', message: 'This conversation has open tool calls or questions. Answer them first.' },
    { code: 'RATE_LIMITED', message: 'Too many requests. Try again later.' },
    { code: 'RUN_ID_TAKEN', message: 'There is already a run with this id.' },
    { code: 'RUN_LOST', message: 'The server of this run is gone.' },
    { code: 'RUN_TOO_LARGE', message: 'The run exceeded its size limit.' },
    { code: 'STORE_BUSY', message: UNAVAILABLE },
    { code: 'STORE_FULL', message: 'The store is full.' },
    { code: 'STORE_READ_ONLY', message: 'The store cannot be written now.' },
    { code: 'STORE_UNAVAILABLE', message: UNAVAILABLE },
    { code: 'THREAD_BUSY', message: 'Another run is active in this conversation.' },
    { code: 'TOOL_CALL_UNKNOWN', message: 'The tool call of this result is not open in this conversation.' },
    { code: 'TRANSFER_LIMIT', message: 'The agents exceeded their transfer limit.' },
  ].map((error) => [error.code, error]),
)
const TIMEOUT: PublicError = { code: 'EXECUTION_TIMEOUT', message: 'The run exceeded its time limit.' }
const FAILED: PublicError = { code: 'AGENT_ERROR', message: 'The agent failed.' }

/**
 * The public part of an error. Contract: a known code or `AGENT_ERROR`, and never the text of the error itself.
 * @example publicError({ code: 'STORE_FAILED' }).code // 'AGENT_ERROR'
 */
export function publicError({ code }: Pick<ErrorInfo, 'code'>): PublicError {
  return code === 'TIMEOUT' ? TIMEOUT : (PUBLIC.get(code) ?? FAILED)
}

/** The terminal of a run that ends without one. */
export const BROKEN_OFF: RunErrorEvent = {
  type: EventType.RUN_ERROR,
  code: 'BACKGROUND_EXECUTION_ERROR',
  message: 'The run ended unexpectedly.',
}

/** The terminal of a stream with an event that could not be encoded. */
export function unencodable(requestId: string): RunErrorEvent {
  return runError({ code: 'ENCODING_ERROR', message: 'An event of the run could not be encoded.' }, { requestId })
}

/** The metadata of an error. */
export interface RunErrorOptions {
  /** The id by which the operator finds it. */
  readonly requestId?: string
  readonly retryable?: boolean
  /** The run that holds the thread. */
  readonly holder?: string
  readonly usage?: Usage
}

/**
 * The terminal of a run that failed.
 * @example runError(publicError(KernelError.from(error)), { requestId })
 */
export function runError({ code, message }: PublicError, options: RunErrorOptions = {}): RunErrorEvent {
  checkOptionNames('runError', options, { requestId: true, retryable: true, holder: true, usage: true })
  const { requestId, retryable, holder, usage } = options
  const tokens = usage && usageOf(usage)
  const metadata = {
    ...(requestId !== undefined && { requestId }),
    ...(retryable && { retryable }),
    ...(holder !== undefined && { holder: { runId: holder } }),
  }
  return {
    type: EventType.RUN_ERROR,
    message,
    code,
    ...(tokens && { usage: tokens }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}
