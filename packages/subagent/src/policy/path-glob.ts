import type { MakeError } from './agent-path.ts'
import { expandBraces } from './expand-braces.ts'
import { matchSegments, type SegmentPattern } from './match-segments.ts'

const STAR = -1
const ONE = -2
const REFUSED = '[](){}'

/** A compiled pattern for paths. */
export interface PathGlob {
  /** Returns whether it matches a path, given as the names between its slashes; an absolute path begins with an empty name. */
  matches(names: readonly string[]): boolean
  /** Returns the same for a path whose beginning is unknown, so that a relative pattern may match its end. */
  matchesEnd(names: readonly string[]): boolean
  /** The one path that it matches, if it has no wildcard. */
  readonly literal: string | undefined
}

/**
 * Compiles a pattern for paths with the semantics of picomatch (`dot: true`): `*` and `?` within a name, `**` for any number of names,
 * none included, `{a,b}` for alternatives, `\` before a character that stands for itself.
 * Contract: refuses every other special form of picomatch, so that no pattern means something else here; no pattern is slow, because
 * there is no backtracking over more than one `*`.
 */
export function compilePathGlob(pattern: string, makeError: MakeError): PathGlob {
  if (pattern.startsWith('!'))
    throw makeError('glob must not begin with !; use { not: { glob } }, or \\! for the character')
  const alternatives = expandBraces(pattern, makeError).map((one) => compileOne(one, makeError))
  const [first] = alternatives
  return {
    matches: (names) => alternatives.some(({ segments }) => matchSegments(segments, names)),
    matchesEnd: (names) =>
      alternatives.some(({ segments, isAbsolute }) =>
        matchSegments(isAbsolute ? segments : [undefined, ...segments], names),
      ),
    literal: alternatives.length === 1 ? first?.literal : undefined,
  }
}

interface Alternative {
  readonly segments: readonly SegmentPattern[]
  readonly isAbsolute: boolean
  readonly literal: string | undefined
}

function compileOne(pattern: string, makeError: MakeError): Alternative {
  const names = (pattern.startsWith('./') ? pattern.slice(2) : pattern).split('/')
  checkNames(names, makeError)
  const tokens = names.map((name) => (name === '**' ? undefined : tokensOf(name, makeError)))
  const isLiteral = tokens.every((name) => name?.every((token) => token >= 0))
  return {
    segments: tokens.map((name) => name && ((text: string) => matchName(name, text))),
    isAbsolute: names.length > 1 && names[0] === '',
    literal: isLiteral ? tokens.map((name) => String.fromCharCode(...(name ?? []))).join('/') : undefined,
  }
}

/** Contract: throws for names that no resolved path has, because such a pattern would match nothing. */
function checkNames(names: readonly string[], makeError: MakeError): void {
  for (const [i, name] of names.entries()) {
    if (name === '' && names.length > 1 && i > 0) {
      throw makeError('glob must have a name after each slash; a folder with everything in it is written folder/**')
    }
    if (name === '.' && names.length > 1) throw makeError('glob must not have . between slashes')
    if (name === '..' && i > 0 && names[i - 1] !== '..') throw makeError('glob must not have .. after a name')
  }
}

function tokensOf(name: string, makeError: MakeError): number[] {
  const tokens: number[] = []
  for (let i = 0; i < name.length; i++) {
    const isEscaped = name[i] === '\\'
    if (isEscaped && ++i === name.length) throw makeError('glob must have a character after \\')
    tokens.push(isEscaped ? name.charCodeAt(i) : tokenOf(name.charAt(i), name[i + 1], makeError))
  }
  return tokens
}

function tokenOf(character: string, next: string | undefined, makeError: MakeError): number {
  if (character === '*' && next === '*') {
    throw makeError('glob must have ** between slashes only; for a text that is not a path use { text }')
  }
  if (REFUSED.includes(character)) {
    throw makeError(`glob must write ${character} as \\${character}; of such forms only {a,b} works`)
  }
  if (character === '*') return STAR
  return character === '?' ? ONE : character.charCodeAt(0)
}

/** Matches one name; when a character does not fit, the last `*` takes one more, which is enough because earlier ones need not change. */
function matchName(tokens: readonly number[], text: string): boolean {
  let token = 0
  let star = -1
  let starAt = 0
  for (let at = 0; at < text.length; ) {
    const wanted = tokens[token]
    if (wanted === STAR) {
      star = token++
      starAt = at
    } else if (wanted === ONE || wanted === text.charCodeAt(at)) {
      token++
      at++
    } else if (star !== -1) {
      token = star + 1
      at = ++starAt
    } else return false
  }
  while (tokens[token] === STAR) token++
  return token === tokens.length
}
