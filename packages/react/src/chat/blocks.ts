/** A block of Markdown. */
export type Block =
  | { readonly kind: 'text' | 'heading' | 'quote' | 'code'; readonly text: string }
  | { readonly kind: 'bullets'; readonly items: readonly Item[] }
  | { readonly kind: 'numbers'; readonly start: number; readonly items: readonly Item[] }
  | { readonly kind: 'table'; readonly rows: readonly (readonly string[])[] }

interface Item {
  readonly depth: number
  readonly text: string
}

type Kind = Block['kind'] | 'nothing'

const MARKS: readonly (readonly [kind: Kind, mark: RegExp])[] = [
  ['nothing', /^\s*$/],
  ['bullets', /^\s*[-*•]\s+/],
  ['numbers', /^\s*\d{1,6}[.)]\s+/],
  ['heading', /^#{1,6}\s+/],
  ['quote', /^>\s?/],
  ['table', /^\s*\|(?=.*\|)/],
]
const FENCE = /^[ \t]*```[^\n]*\n?/m
const RULE = /^[\s|:-]+$/

/** Splits the simple Markdown that models write into blocks. Contract: accepts any text, including an incomplete one. */
export function blocksOf(text: string): readonly Block[] {
  return text.split(FENCE).flatMap((part, i): readonly Block[] => {
    if (i % 2 === 1) return [{ kind: 'code', text: part.trimEnd() }]
    return groups(part).flatMap(({ kind, lines }) => blockOf(kind, lines) ?? [])
  })
}

function groups(text: string): readonly { readonly kind: Kind; readonly lines: string[] }[] {
  const all: { kind: Kind; lines: string[] }[] = []
  for (const line of text.split('\n')) {
    const kind = MARKS.find(([, mark]) => mark.test(line))?.[0] ?? 'text'
    const last = all.at(-1)
    if (last?.kind === kind && kind !== 'heading') last.lines.push(line)
    else all.push({ kind, lines: [line] })
  }
  return all
}

function blockOf(kind: Kind, lines: readonly string[]): Block | undefined {
  const bare = lines.map((line) => line.replace(MARKS.find(([name]) => name === kind)?.[1] ?? '', ''))
  const items = () => bare.map((text, i) => ({ depth: depthOf(lines[i] ?? ''), text }))
  switch (kind) {
    case 'nothing':
      return undefined
    case 'bullets':
      return { kind, items: items() }
    case 'numbers':
      return { kind, start: Number.parseInt(lines[0] ?? '', 10), items: items() }
    case 'table':
      return { kind, rows: bare.filter((line) => !RULE.test(line)).map(cellsOf) }
    default:
      return { kind, text: bare.join('\n') }
  }
}

function depthOf(line: string): number {
  return Math.floor(line.search(/\S/) / 2)
}

function cellsOf(line: string): readonly string[] {
  return line
    .replace(/\|\s*$/, '')
    .split('|')
    .map((cell) => cell.trim())
}
