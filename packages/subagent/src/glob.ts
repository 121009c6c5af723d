const STAR = -1
const GLOBSTAR = -2
const SLASH = 47

/** The longest pattern there may be: time is at most its length times that of the text. */
export const LONGEST_PATTERN = 256

/**
 * Compiles a pattern: `*` is any text without `/`, `**` any text, every other character is itself.
 * Contract: no regular expression and no backtracking, so that no pattern can be slow by design.
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

/** Compiles patterns for names, of which one has to match: `*` is any text, every other character is itself. */
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
 * For each wildcard, from where on the places before it can be forgotten once it is reached: whatever they could still lead to,
 * it leads to as well.
 */
function floorsOf(tokens: readonly number[]): number[] {
  let segment = 0
  return tokens.map((token, i) => {
    const floor = token === STAR ? segment : 0
    if (token === GLOBSTAR || token === SLASH) segment = i + 1
    return floor
  })
}

/** Walks the text once with all places in the pattern that may have been reached, in ascending order. */
function walk(tokens: readonly number[], floors: readonly number[], text: string): boolean {
  let places: number[] = []
  let next: number[] = []
  reach(tokens, floors, places, 0)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    next.length = 0
    for (let n = 0; n < places.length; n++) {
      const place = places[n] as number
      const token = tokens[place]
      if (token === GLOBSTAR || (token === STAR && code !== SLASH)) reach(tokens, floors, next, place)
      else if (token === code) reach(tokens, floors, next, place + 1)
    }
    if (next.length === 0) return false
    const before = places
    places = next
    next = before
  }
  return places[places.length - 1] === tokens.length
}

/** Adds a place, and the one behind a wildcard, which may stand for nothing. */
function reach(tokens: readonly number[], floors: readonly number[], places: number[], place: number): void {
  if (places.length > 0 && (places[places.length - 1] as number) >= place) return
  const token = tokens[place]
  if (token !== STAR && token !== GLOBSTAR) {
    places.push(place)
    return
  }
  const floor = floors[place] as number
  while (places.length > 0 && (places[places.length - 1] as number) >= floor) places.pop()
  places.push(place, place + 1)
}
