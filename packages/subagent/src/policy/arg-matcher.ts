import type { Json } from '@troupe/kernel'
import { got, notJson } from '@troupe/kernel/kit'
import { compileGlob, LONGEST_PATTERN } from '../glob.ts'
import type { MakeError } from './agent-path.ts'

/** A condition on one argument. */
export type ArgMatcher = ArgTest | { readonly not: ArgTest }
/** `equals` compares JSON; `glob` compares text: `*` is any text without `/`, `**` is any text; of several patterns one has to match. */
export type ArgTest = { readonly equals: Json } | { readonly glob: string | readonly string[] }

/**
 * Compiles the conditions of a rule on arguments; all of them have to match.
 * Contract: an unclear case is decided the stricter way; `loosens` means that a match allows the call.
 */
export function compileArgs(
  given: unknown,
  loosens: boolean,
  errorAt: (where: string) => MakeError,
): (args: unknown) => boolean {
  if (!isRecord(given) || Object.keys(given).length === 0) {
    throw errorAt('args')(`must map names of arguments to { equals }, { glob } or { not }, ${got(given)}`)
  }
  const matchers = Object.entries(given).map(([name, matcher]) => {
    const makeError = errorAt(`args.${name}`)
    const negated = isRecord(matcher) && 'not' in matcher
    if (negated) checkMatcherKeys(matcher, ['not'], makeError)
    const test = compileTest(negated ? matcher.not : matcher, loosens !== negated, makeError)
    return (args: Record<string, unknown>) => test(args[name]) !== negated
  })
  return (args) => {
    if (!isRecord(args)) return !loosens
    try {
      return matchers.every((matches) => matches(args))
    } catch {
      return !loosens
    }
  }
}

function compileTest(given: unknown, loosens: boolean, makeError: MakeError): (value: unknown) => boolean {
  if (!isRecord(given)) throw makeError(`must be { equals }, { glob } or { not }, ${got(given)}`)
  if ('equals' in given) {
    checkMatcherKeys(given, ['equals'], makeError)
    const { equals } = given
    const broken = equals === undefined ? '' : notJson(equals)
    if (broken !== undefined) throw makeError(`equals must be plain JSON, ${got(equals)}`)
    const expected: unknown = structuredClone(equals)
    return (value) => isEqual(value, expected)
  }
  checkMatcherKeys(given, ['glob'], makeError)
  return compileGlobs(given.glob, loosens, makeError)
}

function compileGlobs(given: unknown, loosens: boolean, makeError: MakeError): (value: unknown) => boolean {
  const patterns: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (patterns.length === 0) throw makeError('glob must be a pattern or a list of patterns, got an empty list')
  const globs = patterns.map((pattern) => {
    if (typeof pattern !== 'string') throw makeError(`glob must be a pattern or a list of patterns, ${got(pattern)}`)
    checkLength(pattern, makeError)
    return { matches: compileGlob(pattern), wild: pattern.includes('*') }
  })
  const frees = (value: unknown) =>
    typeof value === 'string' && globs.some(({ matches, wild }) => matches(value) && !(wild && CLIMBS.test(value)))
  const binds = (value: unknown): boolean => {
    if (typeof value === 'object' && value !== null) return Object.values(value).some(binds)
    if (typeof value !== 'string') return false
    const plain = normalizedPath(value)
    return CLIMBS.test(plain) || globs.some(({ matches }) => matches(value) || matches(plain))
  }
  if (!loosens) return binds
  return (value) => (Array.isArray(value) ? value.length > 0 && value.every(frees) : frees(value))
}

/** Matches a path with a `..` step. */
const CLIMBS = /(^|[\\/])\.\.([\\/]|$)/

/** Resolves `.` and `..` steps: `./a//b/../c` becomes `a/c`; a leading `..` stays. */
function normalizedPath(path: string): string {
  const steps: string[] = []
  for (const step of path.split(/[\\/]/)) {
    if (step === '' || step === '.') continue
    if (step === '..' && steps.length > 0 && steps.at(-1) !== '..') steps.pop()
    else steps.push(step)
  }
  return (/^[\\/]/.test(path) ? '/' : '') + steps.join('/')
}

/** Contract: throws if a pattern is too long. */
export function checkLength(pattern: string, makeError: MakeError): void {
  if (pattern.length > LONGEST_PATTERN) {
    throw makeError(`must have at most ${LONGEST_PATTERN} characters in a pattern, got ${pattern.length}`)
  }
}

/** Contract: throws for an unknown key, because a misspelt one would widen a rule. */
function checkMatcherKeys(record: Record<string, unknown>, known: readonly string[], makeError: MakeError): void {
  const unknown = Object.keys(record).find((key) => !known.includes(key))
  if (unknown !== undefined) throw makeError(`must have no keys but ${known.join(', ')}, ${got(unknown)}`)
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, i) => isEqual(item, other[i]))
  }
  if (!isRecord(one) || !isRecord(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key]))
  )
}
