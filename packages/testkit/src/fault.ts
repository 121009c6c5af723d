import { isDeepStrictEqual } from 'node:util'
import { KernelError } from '@troupe/kernel'

/** Something that is wrong with a plugin: a sentence without its full stop, and what to do if the clause does not know it better. */
export class Fault extends Error {
  readonly todo: string | undefined

  constructor(wrong: string, todo?: string, options?: ErrorOptions) {
    super(wrong, options)
    this.todo = todo
  }
}

/**
 * The assertion of every suite.
 * Contract: `wrong` is a sentence about the plugin; `todo` replaces what the clause says is to be done.
 * @example demand(tool.name !== '', 'The tool has no name')
 */
export function demand(holds: boolean, wrong: string, todo?: string): asserts holds {
  if (holds) return
  const fault = new Fault(wrong, todo)
  Error.captureStackTrace(fault, demand)
  throw fault
}

/** Demands equal values, and tells both. Contract: `wrong` is a sentence that they can follow. */
export function demandEqual(actual: unknown, right: unknown, wrong: string, todo?: string): void {
  if (isDeepStrictEqual(actual, right)) return
  const values = { actual, expected: right }
  throw Object.assign(new Fault(`${wrong}. ${difference(values)}`, todo), values)
}

/**
 * The error that a suite shows for a clause that does not hold; `seen` has lines about what was done before.
 * Contract: its cause is what was thrown; the values of an assertion stay, for the diff.
 */
export function inWords(error: unknown, clause: string, todo: string, seen?: string): Error {
  const { wrong, advice = todo } = wordsFor(error, clause, todo)
  const lines = [`${wrong}.`, ...(seen ? [seen] : []), `What to do: ${advice}`]
  const words = new Error(lines.join('\n'), { cause: error instanceof Fault ? error.cause : error })
  words.name = 'ContractError'
  // The place of the assertion, not of the frame around it.
  const frames = error instanceof Error ? error.stack?.split('\n').filter((line) => /^ {4}at /.test(line)) : undefined
  words.stack = [`${words.name}: ${words.message}`, ...(frames ?? [])].join('\n')
  if (isAssertion(error)) Object.assign(words, { actual: error.actual, expected: error.expected })
  return words
}

function wordsFor(error: unknown, clause: string, todo: string): { readonly wrong: string; readonly advice?: string } {
  if (error instanceof Fault) {
    return { wrong: error.message, ...(error.todo !== undefined && { advice: error.todo }) }
  }
  if (isFrozenChange(error)) {
    return {
      wrong: `The plugin changed in place what it was given (${error.message})`,
      advice: MAKE_A_COPY,
    }
  }
  if (isAssertion(error)) return { wrong: `This does not hold: ${clause}. ${comparison(error)}` }
  const wrong = `The plugin failed with ${errorText(error)}, so this does not hold: ${clause}`
  return KernelError.is(error) ? { wrong } : { wrong, advice: `${FIX_FIRST} If it still does not hold: ${todo}` }
}

const FIX_FIRST = 'Fix that first; the cause of this error tells where it was thrown.'

/**
 * Names what a plugin threw before a clause could be tested.
 * Contract: a fault stays as it is, and so does the error of a change in place, which has words of its own.
 * @example throw firstCause(error, (text) => `make() threw ${text}`)
 */
export function firstCause(error: unknown, wrong: (text: string) => string, todo: string = FIX_FIRST): unknown {
  if (error instanceof Fault || isFrozenChange(error)) return error
  return new Fault(wrong(errorText(error)), todo, { cause: error })
}

/** Whether an error comes from a change of a frozen object. */
export function isFrozenChange(error: unknown): error is TypeError {
  return error instanceof TypeError && tellsOfFrozen(error.message)
}

/** Whether a message is of such an error, also if the kernel has added to it. */
export function tellsOfFrozen(message: string): boolean {
  return /read.only|not extensible|Cannot delete property/.test(message)
}

/** The advice for a change in place. */
export const MAKE_A_COPY = 'Make a copy and change that: others read the same object.'

/** An error on one line: its code or name, and its message. */
export function errorText(error: unknown): string {
  if (KernelError.is(error)) return `${error.code} (${error.message})`
  return error instanceof Error ? `${error.name} (${error.message})` : shown(error)
}

interface Assertion {
  readonly actual: unknown
  readonly expected: unknown
}

function isAssertion(error: unknown): error is Error & Assertion {
  return error instanceof Error && 'actual' in error && 'expected' in error
}

/** The values that an assertion compared; for any check but equality, its own words. */
function comparison(error: Error & Assertion): string {
  const words = /^expected (.*)$/.exec(error.message)?.[1]
  const isEquality = words === undefined || !/\b(?:less than|greater than|not|defined)\b/.test(words)
  return isEquality ? difference(error) : `Expected ${words}`
}

/** The first place where two values differ, in words. */
function difference({ actual, expected }: Assertion): string {
  const path: string[] = []
  let [wrong, right] = [actual, expected]
  for (;;) {
    const keys = isBranch(wrong) && isBranch(right) ? [...Object.keys(right), ...Object.keys(wrong)] : []
    const key = keys.find((key) => !isDeepStrictEqual(at(wrong, key), at(right, key)))
    if (key === undefined) break
    path.push(key)
    ;[wrong, right] = [at(wrong, key), at(right, key)]
  }
  const where = path.length === 0 ? 'Expected' : `At ${path.join('.')}, expected`
  return `${where} ${shown(right)}, got ${shown(wrong)}`
}

function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !('asymmetricMatch' in value)
}

function at(value: unknown, key: string): unknown {
  return (value as Record<string, unknown>)[key]
}

/** A value on one line, cut where it gets long. */
export function shown(value: unknown, longest = 300): string {
  const text = typeof value === 'function' ? 'a function' : value instanceof Promise ? 'a promise' : jsonOf(value)
  const line = text.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
  return line.length > longest ? `${line.slice(0, longest)}…` : line
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value, (_, inner) => (inner instanceof Set ? [...inner] : inner)) ?? String(value)
  } catch {
    return String(value)
  }
}
