import { got, isObject, KernelError } from '../data/error.ts'

/** The error for an argument that a store cannot take. */
export function malformed(who: string, expected: string, value: unknown): KernelError {
  return new KernelError('VALIDATION_FAILED', `${who}: expected ${expected}, ${got(value)}`)
}

/** Throws `VALIDATION_FAILED` unless `ok`. */
export function check(who: string, ok: boolean, expected: string, value: unknown): void {
  if (!ok) throw malformed(who, expected, value)
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Whether a value is an object with named fields. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value)
}

/** Whether a value can be JSON, as far as can be seen without walking it. */
export function looksLikeJson(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value)
    case 'object':
      return value === null || Array.isArray(value) || isLiteral(value)
    default:
      return false
  }
}

/** Whether an object is a literal, of whichever realm. */
function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
