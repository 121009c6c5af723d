import { KernelError } from '@troupe/kernel'

const STATUS: ReadonlyMap<string, number> = new Map([
  ['VALIDATION_FAILED', 400],
  ['UNAUTHENTICATED', 401],
  ['FORBIDDEN', 403],
  ['NOT_FOUND', 404],
  ['METHOD_NOT_ALLOWED', 405],
  ['BODY_TOO_LARGE', 413],
  ['CONTENT_TYPE_UNSUPPORTED', 415],
  ['USER_LIMIT', 429],
  ['EXECUTION_LIMIT', 503],
  ['SERVER_STOPPING', 503],
  ['BODY_ALREADY_READ', 500],
])
/** The codes of JSON-RPC, and that of servers for what is refused before it is a call. */
const PARSE_ERROR = -32_700
const INTERNAL_ERROR = -32_603
const REFUSED = -32_000
const SESSION_UNKNOWN = -32_001

/** Whether the text of an error is written for clients. */
export function isForClients(error: unknown): error is KernelError {
  return KernelError.is(error) && STATUS.has(error.code)
}

/** The response for a request that is refused. Contract: the text of an internal error never gets out. */
export function refuse(error: unknown): Response {
  if (!isForClients(error)) return respond(500, INTERNAL_ERROR, 'Internal error', { code: 'AGENT_ERROR' })
  const { code, message, details } = error
  const status = STATUS.get(code) ?? 500
  return respond(status, rpcCode(code, details.issues !== undefined), message, { code })
}

/** Contract: only a body that is not JSON has issues. */
function rpcCode(code: string, hasIssues: boolean): number {
  if (hasIssues) return PARSE_ERROR
  return code === 'NOT_FOUND' ? SESSION_UNKNOWN : REFUSED
}

function respond(status: number, code: number, message: string, data: { readonly code: string }): Response {
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...((status === 503 || status === 429) && { 'retry-after': '1' }),
    ...(status === 405 && { allow: 'GET, POST, DELETE' }),
    // The rest of the body is not read.
    ...(status === 413 && { connection: 'close' }),
  }
  return new Response(JSON.stringify({ jsonrpc: '2.0', error: { code, message, data }, id: null }), { status, headers })
}
