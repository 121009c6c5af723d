/** Reads Markdown: its title, its headings, and what stands outside of code. */

/** A heading with the anchor that leads to it. */
export interface Heading {
  readonly level: number
  readonly text: string
  readonly anchor: string
}

/** A link of a page. */
export interface Link {
  readonly text: string
  readonly url: string
  readonly isImage: boolean
}

const FENCED = /^( *`{3,}).*?^\1[^\n]*$/gms
const LINK_OR_CODE = /`[^`\n]*`|(!?)\[((?:[^[\]`]|`[^`\n]*`|!?\[[^\]]*\](?:\([^)]*\))?)*)\]\(([^)\s]+)\)/g

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
  const prose = markdown.replaceAll(FENCED, '')
  const seen = new Map<string, number>()
  return [...prose.matchAll(/^(#{1,6}) (.*?)(?: *\{#([\w-]+)\})? *$/gm)].map(([, marks = '', words = '', own]) => {
    const text = plainText(words)
    const first = own ?? slug(text)
    const times = seen.get(first) ?? 0
    seen.set(first, times + 1)
    return { level: marks.length, text, anchor: times === 0 ? first : `${first}-${times}` }
  })
}

/** The title of a page. */
export function titleOf(markdown: string): string {
  return headingsOf(markdown).find(({ level }) => level === 1)?.text ?? ''
}

/** The first sentences of a page, as one line of plain text. */
export function summaryOf(markdown: string): string {
  const prose = markdown.replaceAll(FENCED, '').replace(/^---\n.*?^---\n/ms, '')
  const [paragraph = ''] = prose.split(/\n\n+/).filter((part) => /^[\p{L}`[*]/u.test(part.trim()))
  const [sentence = ''] = /^.*?[.。:](?=\s|$)/s.exec(paragraph) ?? [paragraph]
  return plainText(sentence.replaceAll(/\s+/g, ' ')).replace(/:$/, '.').trim()
}

/** The text of a section without its heading. Contract: throws if the page has no such section. */
export function sectionOf(markdown: string, anchor: string): string {
  const headings = headingsOf(markdown)
  const at = headings.findIndex((heading) => heading.anchor === anchor)
  const heading = headings[at]
  if (!heading) throw new Error(`no section #${anchor}`)
  const lines = markdown.split('\n')
  const starts = lineNumbers(markdown)
  const next = headings.findIndex(({ level }, i) => i > at && level <= heading.level)
  return lines
    .slice((starts[at] ?? 0) + 1, next === -1 ? undefined : starts[next])
    .join('\n')
    .trim()
}

/** Changes the links of a page and leaves its code as it is. */
export function mapLinks(markdown: string, change: (link: Link) => string): string {
  return mapProse(markdown, (prose) =>
    prose.replaceAll(LINK_OR_CODE, (whole, mark: string | undefined, text: string, url: string | undefined) =>
      url === undefined
        ? whole
        : change({ text: mark === '!' ? text : mapLinks(text, change), url, isImage: mark === '!' }),
    ),
  )
}

/** The blocks of code of a page: the words after the ticks, and the text. */
export function codeBlocksOf(markdown: string): readonly { readonly kind: string; readonly code: string }[] {
  return [...markdown.matchAll(/^```(\w[\w ]*)\n(.*?)^```/gms)].map(([, kind = '', code = '']) => ({ kind, code }))
}

function mapProse(markdown: string, change: (prose: string) => string): string {
  let end = 0
  let out = ''
  for (const fence of markdown.matchAll(FENCED)) {
    out += change(markdown.slice(end, fence.index)) + fence[0]
    end = fence.index + fence[0].length
  }
  return out + change(markdown.slice(end))
}

/** The line on which each heading stands. */
function lineNumbers(markdown: string): readonly number[] {
  const blanked = markdown.replaceAll(FENCED, (fence) => fence.replaceAll(/[^\n]/g, ''))
  return blanked.split('\n').flatMap((line, i) => (/^#{1,6} /.test(line) ? [i] : []))
}

function plainText(markdown: string): string {
  const withoutLinks = markdown.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
  return withoutLinks.replaceAll(/`([^`]*)`|\*\*?/g, (_, code: string | undefined) => code ?? '')
}
