import { KernelError, type Part, type ToolCallResult } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'
import { failedResult } from './failed-result.ts'

/** Every chunk costs memory, even an empty one. */
const CHUNK = 16

/** Contract: throws `RESULT_TOO_LARGE` for a value of more than `most` characters, without a look at the rest of it. */
export function checkLength(toolName: string, value: unknown, most: number): void {
  if (value !== undefined && jsonLength(value, most) > most) throw tooLarge(toolName, most)
}

/** Properties of results that are short enough. */
const MEASURED = new WeakSet<object>()

/** Marks a result as short enough. Contract: only for results that are made of a value that has passed `checkLength`. */
export function markMeasured(result: ToolCallResult): ToolCallResult {
  const { content, data, error } = result
  if (typeof content === 'object') MEASURED.add(content)
  if (typeof data === 'object' && data !== null) MEASURED.add(data)
  if (error) MEASURED.add(error)
  return result
}

/** A result that a handler gave, or the error that the model gets instead of a result that is too large. Contract: what the tool gave is not measured again. */
export function limitedResult(toolName: string, result: ToolCallResult, most: number): ToolCallResult {
  const { content, display, data, error } = result
  // The content of most results is the text of their data, so each property has the whole room.
  const fits = isShort(content, most) && isShort(display, most) && isShort(data, most) && isShort(error, most)
  return fits ? result : failedResult(tooLarge(toolName, most))
}

function isShort(value: unknown, most: number): boolean {
  const isMeasured = typeof value === 'object' && value !== null && MEASURED.has(value)
  return isMeasured || jsonLength(value, most) <= most
}

/** Counts the characters of a result that comes in chunks. */
export class ResultLength {
  readonly #toolName: string
  readonly #most: number
  #length = 0

  constructor(toolName: string, most: number) {
    this.#toolName = toolName
    this.#most = most
  }

  /** Contract: throws `RESULT_TOO_LARGE` for the chunk that is too much. */
  add(chunk: string | Part): void {
    this.#length += CHUNK + jsonLength(chunk, this.#most)
    if (this.#length > this.#most) throw tooLarge(this.#toolName, this.#most)
  }
}

function tooLarge(toolName: string, most: number): KernelError {
  const message = `tool ${toolName}: its result has more than ${most} characters (maxResultChars); ask it for less`
  return new KernelError('RESULT_TOO_LARGE', message, { details: { maxResultChars: most } })
}
