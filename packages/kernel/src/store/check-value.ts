import { got, isObject, KernelError } from '../data/kernel-error.ts'

/** The error for an argument that a store cannot take. */
export function malformed(who: string, expected: string, value: unknown): KernelError {
  return new KernelError('VALIDATION_FAILED', `${who}: expected ${expected}, ${got(value)}`)
}

/** Throws `VALIDATION_FAILED` unless `ok`. */
export function check(who: string, ok: boolean, expected: string, value: unknown): void {
  if (!ok) throw malformed(who, expected, value)
}

/** Checks a field that is text. */
export function checkText(who: string, what: string, value: unknown): void {
  if (!isText(value)) throw malformed(who, `a text as ${what}`, value)
}

/** Checks a place in a sequence or a moment. */
export function checkNumber(who: string, what: string, value: unknown): void {
  if (!Number.isFinite(value)) throw malformed(who, `a number as ${what}`, value)
}

/** Checks a number of tokens or characters. */
export function checkCount(who: string, what: string, value: unknown): void {
  if (!Number.isInteger(value) || Number(value) < 0) throw malformed(who, `a whole number from 0 on as ${what}`, value)
}

/** Checks a list; its items are checked by the caller. */
export function checkList(who: string, what: string, value: unknown): void {
  if (!Array.isArray(value)) throw malformed(who, `a list of ${what}`, value)
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
  if (typeof value === 'object') return value === null || isLiteral(value) || Array.isArray(value)
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value === 'string' || typeof value === 'boolean'
}

/** Whether an object is a literal, of whichever realm. */
function isLiteral(value: object): boolean {
  // Faster than to ask for the prototype: an append may have hundreds of events.
  if (value.constructor === Object) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
