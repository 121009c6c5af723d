import type { Json } from '@troupe/kernel'
import { got, notJson } from '@troupe/kernel/kit'
import { compileNames, LONGEST_PATTERN } from '../glob.ts'
import type { MakeError } from './agent-path.ts'
import { compilePathGlob, type PathGlob } from './path-glob.ts'

/** A condition on one argument. */
export type ArgMatcher = ArgTest | { readonly not: ArgTest }
/**
 * `equals` compares JSON. `glob` compares paths: `*` and `?` within a name, `**` for any number of names, none included, `{a,b}`.
 * `text` compares any other text: `*` is any text, every other character is itself. Of several patterns one has to match.
 */
export type ArgTest =
  | { readonly equals: Json }
  | { readonly glob: string | readonly string[] }
  | { readonly text: string | readonly string[] }

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
    throw errorAt('args')(`must map names of arguments to { equals }, { glob }, { text } or { not }, ${got(given)}`)
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
  if (!isRecord(given)) throw makeError(`must be { equals }, { glob }, { text } or { not }, ${got(given)}`)
  if ('equals' in given) {
    checkMatcherKeys(given, ['equals'], makeError)
    const { equals } = given
    const broken = equals === undefined ? '' : notJson(equals)
    if (broken !== undefined) throw makeError(`equals must be plain JSON, ${got(equals)}`)
    const expected: unknown = structuredClone(equals)
    return (value) => isEqual(value, expected)
  }
  if ('text' in given) {
    checkMatcherKeys(given, ['text'], makeError)
    const matches = compileNames(patternsOf('text', given.text, makeError))
    return loosens ? everyText(matches) : someText(matches)
  }
  checkMatcherKeys(given, ['glob'], makeError)
  const globs = patternsOf('glob', given.glob, makeError).map((pattern) => compilePathGlob(pattern, makeError))
  return loosens ? everyText((text) => freesPath(globs, text)) : someText((text) => bindsPath(globs, text))
}

function patternsOf(key: string, given: unknown, makeError: MakeError): readonly string[] {
  const patterns: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (patterns.length === 0) throw makeError(`${key} must be a pattern or a list of patterns, got an empty list`)
  return patterns.map((pattern) => {
    if (typeof pattern !== 'string') throw makeError(`${key} must be a pattern or a list of patterns, ${got(pattern)}`)
    checkLength(pattern, makeError)
    return pattern
  })
}

/** For a rule that allows: a text, or a list in which every item is a text that matches. */
function everyText(matches: (text: string) => boolean): (value: unknown) => boolean {
  const fits = (value: unknown) => typeof value === 'string' && matches(value)
  return (value) => (Array.isArray(value) ? value.length > 0 && value.every(fits) : fits(value))
}

/** For a rule that forbids: one text that matches is enough, at any depth. */
function someText(matches: (text: string) => boolean): (value: unknown) => boolean {
  const fits = (value: unknown): boolean => {
    if (typeof value === 'object' && value !== null) return Object.values(value).some(fits)
    return typeof value === 'string' && matches(value)
  }
  return fits
}

/** Contract: a path with `..` may lead anywhere through a link, so only a pattern of exactly this text allows it. */
function freesPath(globs: readonly PathGlob[], path: string): boolean {
  if (CLIMBS.test(path)) return globs.some(({ literal }) => literal === path)
  // A backslash is a part of a name on one system and a slash on another; a path has to match as both.
  const readings = [namesOf(path, '/'), namesOf(path, ANY_SLASH)]
  return globs.some((glob) => readings.every((names) => glob.matches(names)))
}

/** Contract: a path that leaves its folder matches; the beginning of an absolute path is unknown, so its end may match. */
function bindsPath(globs: readonly PathGlob[], path: string): boolean {
  const names = namesOf(path, ANY_SLASH)
  if (names[0] === '..') return true
  const readings = [names, namesOf(path, '/'), path.split(ANY_SLASH)]
  const isAbsolute = ABSOLUTE.test(path)
  return globs.some((glob) => readings.some((each) => glob.matches(each) || (isAbsolute && glob.matchesEnd(each))))
}

/** Matches a path with a `..` step. */
const CLIMBS = /(^|[\\/])\.\.([\\/]|$)/

const ANY_SLASH = /[\\/]/
const ABSOLUTE = /^([\\/~]|[A-Za-z]:)/

/** Gives the names between the slashes, with `.` and `..` resolved: those of `./a//b/../c` are `a` and `c`; a leading `..` stays. */
function namesOf(path: string, slash: string | RegExp): readonly string[] {
  const names: string[] = []
  for (const name of path.split(slash)) {
    if (name === '' || name === '.') continue
    if (name === '..' && names.length > 0 && names.at(-1) !== '..') names.pop()
    else names.push(name)
  }
  return path.split(slash, 1)[0] === '' && path !== '' ? ['', ...names] : names
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
