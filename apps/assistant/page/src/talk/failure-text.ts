import { argsOf } from './items.ts'

const AWAY = 'The server cannot be reached. Try again when it is back.'

/** What the reader is told of an error. Contract: of an answer of the server its message; never a code or a body. */
export function failureText(error: unknown): string {
  // What `fetch` rejects with has other words in each browser.
  if (!(error instanceof Error) || error instanceof TypeError) return AWAY
  const [, body] = /^HTTP \d+: ?(.*)$/s.exec(error.message) ?? []
  if (body === undefined) return error.message
  const { message } = argsOf(body)
  return typeof message === 'string' ? message : 'The server could not answer.'
}
