import { argsOf } from './items.ts'

const UNREACHABLE = 'The server cannot be reached. Try again when it is back.'

/** The text of an error for the user. Contract: the message of the server if there is one, never a code or a body. */
export function failureText(error: unknown): string {
  // Each browser has another message for a failed `fetch`.
  if (!(error instanceof Error) || error instanceof TypeError) return UNREACHABLE
  const [, body] = /^HTTP \d+: ?(.*)$/s.exec(error.message) ?? []
  if (body === undefined) return error.message
  const { message } = argsOf(body)
  return typeof message === 'string' ? message : 'The server could not answer.'
}
