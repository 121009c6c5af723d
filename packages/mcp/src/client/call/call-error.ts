import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { KernelError, type ToolCallResult } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { isLost } from '../connection/lost-answers.ts'

/** The error of a server that cannot be used now. */
export function unavailable(server: string, cause: unknown, retryAfterMs?: number): KernelError {
  const error = ownError(cause)
  if (error && error.code !== 'MCP_UNAVAILABLE') return error
  const message = error?.message ?? `mcp server ${server}: cannot be reached, ${reasonOf(cause)}`
  return new KernelError('MCP_UNAVAILABLE', message, {
    cause,
    retryable: true,
    details: { server, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  })
}

/** Our own error behind those of the SDK. */
function ownError(error: unknown): KernelError | undefined {
  if (KernelError.is(error)) return error
  return error instanceof Error ? ownError(error.cause) : undefined
}

/** What went wrong, with the cause behind it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`.slice(0, 500)
}

/** Whether the server has certainly not begun with the call: nobody took the connection, or it did not know who calls. */
export function didNotBegin(error: unknown): boolean {
  if (error instanceof SdkHttpError) return [401, 403, 404, 405, 429].includes(error.status)
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected
  if (ownError(error)?.code === 'MCP_ADDRESS_REFUSED') return true
  const { cause, message } = error as Error
  if (message === 'Not connected') return true
  const code = (cause as { readonly code?: unknown } | undefined)?.code
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'].includes(String(code))
}

/** Whether the server answered that it cannot do it, or gave a result that cannot be used. */
export function wasAnswered(error: unknown): boolean {
  if (isLost(error)) return false
  return error instanceof ProtocolError || (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
}

/** The result of a call whose answer never came. */
export function lostResult(server: string, error: unknown, once: boolean): ToolCallResult {
  const why = `mcp server ${server}: ${reasonOf(error)}`
  if (!once) throw new KernelError('MCP_UNAVAILABLE', why, { cause: error, retryable: true, details: { server } })
  const content = `${UNKNOWN_RESULT} It may have been carried out; find out before you call it again. ${why}`
  return { content, error: { code: 'OUTCOME_UNKNOWN', message: why, details: { server } } }
}
