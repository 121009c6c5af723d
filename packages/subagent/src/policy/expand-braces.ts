import type { MakeError } from './agent-path.ts'

/** The maximal number of alternatives in one pattern. */
const MOST = 64

/**
 * Expands `{a,b}` in a pattern into one pattern for each alternative; braces may be nested.
 * Contract: throws for a brace without a partner, without a comma, or with a range; `\` keeps a brace or comma as it is.
 * @example expandBraces('*.{key,pem}', (message) => new KernelError('CONFIG_INVALID', message)) // ['*.key', '*.pem']
 */
export function expandBraces(pattern: string, makeError: MakeError): readonly string[] {
  const finished: string[] = []
  const waiting = [pattern]
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (finished.length + waiting.length >= MOST) throw makeError(`glob must have at most ${MOST} alternatives`)
    const expanded = expandFirst(one, makeError)
    if (expanded) waiting.push(...expanded)
    else finished.push(one)
  }
  return finished
}

function expandFirst(pattern: string, makeError: MakeError): readonly string[] | undefined {
  const marks = marksOf(pattern)
  const open = marks.find(({ character }) => character === '{')
  if (!open) return undefined
  const cuts: number[] = []
  let depth = 0
  for (const { character, at } of marks.slice(marks.indexOf(open))) {
    if (character === '{') depth++
    if (character === '}') depth--
    if (character === ',' && depth === 1) cuts.push(at)
    if (depth > 0) continue
    const ends = [open.at, ...cuts, at]
    const parts = ends.slice(1).map((end, i) => pattern.slice((ends[i] as number) + 1, end))
    if (cuts.length === 0 || parts.includes(''))
      throw makeError('glob must have alternatives in braces, such as {a,b}; write \\{ for the character')
    return parts.map((part) => pattern.slice(0, open.at) + part + pattern.slice(at + 1))
  }
  throw makeError('glob must close each {; write \\{ for the character')
}

interface Mark {
  readonly character: string
  readonly at: number
}

/** Finds the braces and commas that no `\` precedes. */
function marksOf(pattern: string): readonly Mark[] {
  const marks: Mark[] = []
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern.charAt(at)
    if (character === '\\') at++
    else if ('{,}'.includes(character)) marks.push({ character, at })
  }
  return marks
}
