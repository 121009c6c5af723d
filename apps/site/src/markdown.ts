/** Reads Markdown: its title, its headings, and what stands outside of code. */
import { type FoundLink, scanLinks } from './scan-links.ts'

/** A heading with the anchor that leads to it. */
export interface Heading {
  readonly level: number
  readonly text: string
  readonly anchor: string
  /** The number of its line, from 0 on. */
  readonly line: number
}

/** A link of a page. */
export type Link = Pick<FoundLink, 'text' | 'url' | 'isImage'>

/** A line, and whether it belongs to a block of code. */
interface Line {
  readonly text: string
  readonly isCode: boolean
}

/** Makes an anchor of a heading, as GitHub does. */
export function slug(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\-_ ]/gu, '')
    .replaceAll(' ', '-')
}

/** The headings of a page, with the anchors of GitHub or their own, `{#anchor}`. */
export function headingsOf(markdown: string): readonly Heading[] {
  const seen = new Map<string, number>()
  return linesOf(markdown).flatMap(({ text: line, isCode }, number) => {
    const [marks = ''] = /^#{1,6} /.exec(line) ?? []
    if (isCode || marks === '') return []
    const { words, own } = withoutAnchor(line.slice(marks.length))
    const text = plainText(words)
    const first = own ?? slug(text)
    const times = seen.get(first) ?? 0
    seen.set(first, times + 1)
    return [{ level: marks.length - 1, text, anchor: times === 0 ? first : `${first}-${times}`, line: number }]
  })
}

/** The title of a page. */
export function titleOf(markdown: string): string {
  return headingsOf(markdown).find(({ level }) => level === 1)?.text ?? ''
}

/** The first sentence of a page, as plain text. */
export function summaryOf(markdown: string): string {
  const lines = linesOf(withoutHead(markdown)).map(({ text, isCode }) => (isCode ? '' : text))
  const paragraph = lines
    .join('\n')
    .split('\n\n')
    .map((part) => part.trim())
    .find((part) => /^[\p{L}`[*]/u.test(part))
  const text = plainText((paragraph ?? '').split(/\s/).filter(Boolean).join(' '))
  const end = text.search(/[.。:](?:\s|$)/)
  return end === -1 ? text : `${text.slice(0, end)}${text[end] === ':' ? '.' : text[end]}`
}

/** The text of a section without its heading. Contract: throws if the page has no such section. */
export function sectionOf(markdown: string, anchor: string): string {
  const headings = headingsOf(markdown)
  const at = headings.findIndex((heading) => heading.anchor === anchor)
  const heading = headings[at]
  if (!heading) throw new Error(`no section #${anchor}`)
  const next = headings.find(({ level }, i) => i > at && level <= heading.level)
  return markdown
    .split('\n')
    .slice(heading.line + 1, next?.line)
    .join('\n')
    .trim()
}

/** Changes the links of a page and leaves its code as it is. */
export function mapLinks(markdown: string, change: (link: Link) => string): string {
  const parts: string[] = []
  let prose: string[] = []
  const flush = () => {
    if (prose.length > 0) parts.push(changeProse(prose.join('\n'), change))
    prose = []
  }
  for (const { text, isCode } of linesOf(markdown)) {
    if (!isCode) prose.push(text)
    else {
      flush()
      parts.push(text)
    }
  }
  flush()
  return parts.join('\n')
}

/** The blocks of code of a page: the words after the ticks, and the text. */
export function codeBlocksOf(markdown: string): readonly { readonly kind: string; readonly code: string }[] {
  const blocks: { kind: string; lines: string[] }[] = []
  let isInside = false
  for (const { text, isCode } of linesOf(markdown)) {
    const begins: boolean = isCode && !isInside
    const ends: boolean = isCode && isInside && text.trim().startsWith('```')
    if (begins) blocks.push({ kind: text.trim().replaceAll('`', ''), lines: [] })
    else if (isCode && !ends) blocks.at(-1)?.lines.push(text)
    isInside = isCode && !ends
  }
  return blocks.map(({ kind, lines }) => ({ kind, code: `${lines.join('\n')}\n` }))
}

/** The head of a page with its own settings, without its fences, and what is below it. */
export function splitHead(markdown: string): { readonly head: string; readonly body: string } {
  const end = markdown.startsWith('---\n') ? markdown.indexOf('\n---\n', 3) : -1
  return end === -1 ? { head: '', body: markdown } : { head: markdown.slice(4, end + 1), body: markdown.slice(end + 5) }
}

function withoutHead(markdown: string): string {
  return splitHead(markdown).body
}

/** The lines of a page; the fences of a block belong to it. */
function linesOf(markdown: string): readonly Line[] {
  let fence = ''
  return markdown.split('\n').map((text) => {
    const [ticks = ''] = /^ *`{3,}/.exec(text) ?? []
    const isCode = fence !== '' || ticks !== ''
    if (fence === '') fence = ticks
    else if (ticks === fence && text.trim() === ticks.trim()) fence = ''
    return { text, isCode }
  })
}

/** Changes the links within the texts of links, too. */
function changeProse(prose: string, change: (link: Link) => string): string {
  let done = 0
  let out = ''
  for (const link of outermost(scanLinks(prose))) {
    const text = link.isImage ? link.text : changeProse(link.text, change)
    out += prose.slice(done, link.start) + change({ ...link, text })
    done = link.end
  }
  return out + prose.slice(done)
}

function outermost(links: readonly FoundLink[]): readonly FoundLink[] {
  const kept: FoundLink[] = []
  for (const link of links) {
    while ((kept.at(-1)?.start ?? -1) > link.start) kept.pop()
    kept.push(link)
  }
  return kept
}

/** Cuts `{#anchor}` off the end of a heading. */
function withoutAnchor(heading: string): { readonly words: string; readonly own: string | undefined } {
  const line = heading.trimEnd()
  const start = line.lastIndexOf('{#')
  if (start === -1 || !line.endsWith('}')) return { words: line, own: undefined }
  return { words: line.slice(0, start).trimEnd(), own: line.slice(start + 2, -1) }
}

function plainText(markdown: string): string {
  const withoutLinks = changeProse(markdown, ({ text }) => text)
  return withoutLinks
    .split('`')
    .map((part, i) => (i % 2 === 0 ? part.replaceAll('*', '') : part))
    .join('')
}
