const STAR = -1
const GLOBSTAR = -2
const SLASH = 47

/** The maximal length of a pattern; matching takes at most this length times that of the text. */
export const LONGEST_PATTERN = 256

/**
 * Compiles a pattern: `*` is any text without `/`, `**` any text, every other character is itself.
 * Contract: uses no regular expression and no backtracking, so that no pattern is slow.
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  const first = pattern.indexOf('*')
  if (first === -1) return (text) => text === pattern
  const last = pattern.lastIndexOf('*')
  const prefix = pattern.slice(0, first)
  const suffix = pattern.slice(last + 1)
  const ends = prefix.length + suffix.length
  const middle = middleOf(tokensOf(pattern.slice(first, last + 1)))
  return (text) =>
    text.length >= ends &&
    text.startsWith(prefix) &&
    text.endsWith(suffix) &&
    middle(text.slice(prefix.length, text.length - suffix.length))
}

/** Compiles patterns for names; one of them has to match: `*` is any text, every other character is itself. */
export function compileNames(patterns: readonly string[]): (name: string) => boolean {
  const globs = patterns.map((pattern) => compileGlob(pattern.replaceAll(/\*+/g, '**')))
  return (name) => globs.some((matches) => matches(name))
}

function tokensOf(pattern: string): number[] {
  const tokens: number[] = []
  for (let i = 0; i < pattern.length; i++) {
    if (pattern[i] !== '*') tokens.push(pattern.charCodeAt(i))
    else {
      const start = i
      while (pattern[i + 1] === '*') i++
      tokens.push(i === start ? STAR : GLOBSTAR)
    }
  }
  return tokens
}

function middleOf(tokens: readonly number[]): (text: string) => boolean {
  if (tokens.length === 1) return tokens[0] === GLOBSTAR ? () => true : (text) => !text.includes('/')
  const floors = floorsOf(tokens)
  return (text) => walk(tokens, floors, text)
}

/**
 * Gives for each wildcard the first earlier position that can be dropped once the wildcard is reached, because the wildcard matches
 * everything that the dropped positions could still match.
 */
function floorsOf(tokens: readonly number[]): number[] {
  let segment = 0
  return tokens.map((token, i) => {
    const floor = token === STAR ? segment : 0
    if (token === GLOBSTAR || token === SLASH) segment = i + 1
    return floor
  })
}

/** Walks the text once, keeping all positions in the pattern that are reached so far, in ascending order. */
function walk(tokens: readonly number[], floors: readonly number[], text: string): boolean {
  let positions: number[] = []
  let next: number[] = []
  reach(tokens, floors, positions, 0)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    next.length = 0
    for (let n = 0; n < positions.length; n++) {
      const position = positions[n] as number
      const token = tokens[position]
      if (token === GLOBSTAR || (token === STAR && code !== SLASH)) reach(tokens, floors, next, position)
      else if (token === code) reach(tokens, floors, next, position + 1)
    }
    if (next.length === 0) return false
    const before = positions
    positions = next
    next = before
  }
  return positions[positions.length - 1] === tokens.length
}

/** Adds a position, and the one behind a wildcard, which may match an empty text. */
function reach(tokens: readonly number[], floors: readonly number[], positions: number[], position: number): void {
  if (positions.length > 0 && (positions[positions.length - 1] as number) >= position) return
  const token = tokens[position]
  if (token !== STAR && token !== GLOBSTAR) {
    positions.push(position)
    return
  }
  const floor = floors[position] as number
  while (positions.length > 0 && (positions[positions.length - 1] as number) >= floor) positions.pop()
  positions.push(position, position + 1)
}
