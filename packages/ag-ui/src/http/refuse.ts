import { type JsonObject, KernelError } from '@troupe/kernel'
import { publicError } from '../translate/run-error.ts'

/** The HTTP status of each code. */
const STATUS: ReadonlyMap<string, number> = new Map([
  ['VALIDATION_FAILED', 400],
  ['UNAUTHENTICATED', 401],
  ['FORBIDDEN', 403],
  ['NOT_FOUND', 404],
  ['METHOD_NOT_ALLOWED', 405],
  ['NOT_ACCEPTABLE', 406],
  ['THREAD_BUSY', 409],
  ['RUN_ID_TAKEN', 409],
  ['RUN_LOST', 409],
  ['BODY_TOO_LARGE', 413],
  ['CONTENT_TYPE_UNSUPPORTED', 415],
  ['USER_LIMIT', 429],
  ['EXECUTION_LIMIT', 503],
  ['SERVER_STOPPING', 503],
  ['RUN_LOG_FAILED', 503],
  ['STORE_BUSY', 503],
  ['STORE_FULL', 503],
  ['STORE_READ_ONLY', 503],
  ['STORE_UNAVAILABLE', 503],
  ['AGENT_ERROR', 500],
  ['BODY_ALREADY_READ', 500],
])
const RETRY_AFTER_S = 1
/** Codes whose message is written for the client. */
const CLIENT_MESSAGES = new Set([
  'VALIDATION_FAILED',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'METHOD_NOT_ALLOWED',
  'NOT_ACCEPTABLE',
  'BODY_ALREADY_READ',
  'BODY_TOO_LARGE',
  'CONTENT_TYPE_UNSUPPORTED',
  'SERVER_STOPPING',
  'USER_LIMIT',
])

/** The status of a code, or undefined for an error that is sent as a stream of one event. */
export function statusOf(code: string): number | undefined {
  return STATUS.get(code)
}

/** The headers of a JSON answer. */
export const JSON_HEADERS: Record<string, string> = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
}

/** A JSON answer. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...JSON_HEADERS, ...headers },
  })
}

/** An error as the client gets it. */
interface Refusal {
  readonly code: string
  readonly message: string
  /** More fields, for example the run that holds a busy thread. */
  readonly more?: JsonObject
  readonly headers?: Record<string, string>
}

/** An error response: code, safe message, and the id by which the operator finds it. */
export function refuse({ code, message, more, headers }: Refusal, requestId: string): Response {
  const status = STATUS.get(code) ?? 500
  return json(
    status,
    { code, message, requestId, ...more },
    {
      ...((status === 503 || status === 429) && { 'retry-after': String(RETRY_AFTER_S) }),
      // The rest of the body is not read.
      ...(code === 'BODY_TOO_LARGE' && { connection: 'close' }),
      ...headers,
    },
  )
}

/**
 * The public part of anything thrown in a handler.
 * Contract: only messages written for clients; the text of a database or an agent never gets out.
 */
export function refusalOf(error: unknown): Refusal {
  if (!KernelError.is(error)) return publicError({ code: 'AGENT_FAILED' })
  const { code, message, details } = error
  if (CLIENT_MESSAGES.has(code))
    return { code, message, ...(Array.isArray(details.issues) && { more: { issues: details.issues } }) }
  return publicError(error)
}
