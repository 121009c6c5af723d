import { got, KernelError } from '../data/kernel-error.ts'
import { check } from './check-value.ts'

/** Far more than a model can read, far less than a database or its driver can hold. */
const MAX_LENGTH = 2 ** 26

/** Checks that a text is not too large for a column. */
export function checkLength(who: string, what: string, text: string): void {
  if (text.length <= MAX_LENGTH) return
  const expected = `${what} of at most ${MAX_LENGTH} characters; keep large files elsewhere and store where they are`
  check(who, false, expected, text.length)
}

/**
 * Writes a value as JSON, for stores that keep text.
 * Contract: throws `VALIDATION_FAILED` for a value that JSON cannot hold and for one that is too large.
 * @example jsonText('sqliteStore', 'a result', value)
 */
export function jsonText(who: string, what: string, value: unknown): string {
  let text: string | undefined
  let cause: unknown
  try {
    text = JSON.stringify(value)
  } catch (error) {
    cause = error
  }
  if (text === undefined) {
    throw new KernelError('VALIDATION_FAILED', `${who}: expected ${what} of plain JSON, ${got(value)}`, { cause })
  }
  checkLength(who, what, text)
  return text
}
