import { got, type Json, notJson } from '@troupe/kernel'
import { compileGlob, LONGEST_PATTERN } from '../glob.ts'
import type { Wrong } from './agent-path.ts'

/** What one argument has to be. */
export type ArgMatcher = ArgTest | { readonly not: ArgTest }
/** `equals` compares JSON; `glob` compares text: `*` is any text without `/`, `**` any text; of several patterns one has to match. */
export type ArgTest = { readonly equals: Json } | { readonly glob: string | readonly string[] }
/** Says whether arguments match. */
export type MatchArgs = (args: unknown) => boolean

/**
 * Compiles what a rule says about arguments; every named one has to match.
 * Contract: what cannot be told for sure turns out for the stricter side: `loosens` says that a match frees a call.
 */
export function compileArgs(given: unknown, loosens: boolean, wrongAt: (where: string) => Wrong): MatchArgs {
  if (!isRecord(given) || Object.keys(given).length === 0) {
    throw wrongAt('args')(`names arguments, each with { equals }, { glob } or { not }, ${got(given)}`)
  }
  const matchers = Object.entries(given).map(([name, matcher]) => {
    const wrong = wrongAt(`args.${name}`)
    const negated = isRecord(matcher) && 'not' in matcher
    if (negated) checkKeys(matcher, ['not'], wrong)
    const test = compileTest(negated ? matcher.not : matcher, loosens !== negated, wrong)
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

function compileTest(given: unknown, loosens: boolean, wrong: Wrong): (value: unknown) => boolean {
  if (!isRecord(given)) throw wrong(`is { equals }, { glob } or { not }, ${got(given)}`)
  if ('equals' in given) {
    checkKeys(given, ['equals'], wrong)
    const { equals } = given
    const broken = equals === undefined ? '' : notJson(equals)
    if (broken !== undefined) throw wrong(`equals is plain JSON, ${got(equals)}`)
    const expected: unknown = structuredClone(equals)
    return (value) => isEqual(value, expected)
  }
  checkKeys(given, ['glob'], wrong)
  return compileGlobs(given.glob, loosens, wrong)
}

function compileGlobs(given: unknown, loosens: boolean, wrong: Wrong): (value: unknown) => boolean {
  const patterns: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (patterns.length === 0) throw wrong('glob is a pattern or a list of them, got an empty list')
  const globs = patterns.map((pattern) => {
    if (typeof pattern !== 'string') throw wrong(`glob is a pattern or a list of them, ${got(pattern)}`)
    checkLength(pattern, wrong)
    return { matches: compileGlob(pattern), wild: pattern.includes('*') }
  })
  const frees = (value: unknown) =>
    typeof value === 'string' && globs.some(({ matches, wild }) => matches(value) && !(wild && CLIMBS.test(value)))
  const binds = (value: unknown): boolean => {
    if (typeof value === 'object' && value !== null) return Object.values(value).some(binds)
    if (typeof value !== 'string') return false
    const plain = plainly(value)
    return CLIMBS.test(plain) || globs.some(({ matches }) => matches(value) || matches(plain))
  }
  if (!loosens) return binds
  return (value) => (Array.isArray(value) ? value.length > 0 && value.every(frees) : frees(value))
}

/** A text that leaves a folder it names. */
const CLIMBS = /(^|[\\/])\.\.([\\/]|$)/

/** A path without its detours: `./a//b/../c` is `a/c`; it still climbs if it leads to who knows where. */
function plainly(path: string): string {
  const steps: string[] = []
  for (const step of path.split(/[\\/]/)) {
    if (step === '' || step === '.') continue
    if (step === '..' && steps.length > 0 && steps.at(-1) !== '..') steps.pop()
    else steps.push(step)
  }
  return (/^[\\/]/.test(path) ? '/' : '') + steps.join('/')
}

/** Contract: throws what `wrong` makes of it if a pattern is too long. */
export function checkLength(pattern: string, wrong: Wrong): void {
  if (pattern.length > LONGEST_PATTERN) {
    throw wrong(`has at most ${LONGEST_PATTERN} characters in a pattern, got ${pattern.length}`)
  }
}

/** Contract: throws what `wrong` makes of it if a record has other keys than these: a misspelt one would widen a rule. */
function checkKeys(record: Record<string, unknown>, known: readonly string[], wrong: Wrong): void {
  const unknown = Object.keys(record).find((key) => !known.includes(key))
  if (unknown !== undefined) throw wrong(`knows ${known.join(', ')}, ${got(unknown)}`)
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
