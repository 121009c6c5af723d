/** Finds the links in the prose of Markdown. */

/** A link with its place in the text. */
export interface FoundLink {
  readonly start: number
  readonly end: number
  readonly text: string
  readonly url: string
  readonly isImage: boolean
}

/** The links of a text, also those within the text of another, which come before it. Contract: code is passed over. */
export function scanLinks(prose: string): readonly FoundLink[] {
  const found: FoundLink[] = []
  const open: number[] = []
  let at = 0
  while (at < prose.length) {
    if (prose[at] === '`') at = endOfCode(prose, at)
    else if (prose[at] === '[') open.push(at)
    else if (prose[at] === ']') {
      const link = linkAt(prose, open.pop(), at)
      if (link) found.push(link)
      at = link ? link.end - 1 : at
    }
    at++
  }
  return found
}

/** The last sign of the code that begins here, or of the ticks if nothing ends it in this paragraph. */
function endOfCode(prose: string, start: number): number {
  let length = 1
  while (prose[start + length] === '`') length++
  const ticks = '`'.repeat(length)
  const paragraph = prose.indexOf('\n\n', start)
  const end = prose.indexOf(ticks, start + length)
  return end === -1 || (paragraph !== -1 && end > paragraph) ? start + length - 1 : end + length - 1
}

/** The link whose text is between these brackets, if an address follows. */
function linkAt(prose: string, open: number | undefined, close: number): FoundLink | undefined {
  if (open === undefined || prose[close + 1] !== '(') return undefined
  let end = close + 2
  while (end < prose.length && !ENDS.has(prose[end] ?? '')) end++
  if (prose[end] !== ')' || end === close + 2) return undefined
  const isImage = prose[open - 1] === '!'
  const url = prose.slice(close + 2, end)
  return { start: isImage ? open - 1 : open, end: end + 1, text: prose.slice(open + 1, close), url, isImage }
}

/** What an address cannot have. */
const ENDS: ReadonlySet<string> = new Set([')', ' ', '\n', '\t'])
