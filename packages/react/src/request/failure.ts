import { objectIn } from './object-in.ts'

/** What went wrong with a request: a code of the server, or one of these. */
export type FailureCode = 'UNREACHABLE' | 'UNAUTHENTICATED' | 'NO_ANSWER' | 'FAILED' | (string & {})

/** A request that failed. */
export interface Failure {
  readonly code: FailureCode
  /** The message of the server. */
  readonly text?: string
}

/** What failed. Contract: the text is the message of the server, never a body that has no message. */
export function failureOf(error: unknown): Failure {
  // Each browser has another message for a failed `fetch`.
  if (!(error instanceof Error) || error instanceof TypeError) return { code: 'UNREACHABLE' }
  const [, status, body] = /^HTTP (\d+): ?(.*)$/s.exec(error.message) ?? []
  if (body === undefined) return { code: 'FAILED', text: error.message }
  const { code, message } = objectIn(body)
  return {
    code: status === '401' ? 'UNAUTHENTICATED' : typeof code === 'string' ? code : 'NO_ANSWER',
    ...(typeof code === 'string' && typeof message === 'string' && { text: message }),
  }
}
