/** One heading of a Markdown page with what is below it. */
export interface Section {
  readonly heading: string
  /** `#` or more. */
  readonly level: string
  /** The heading's own id (`{#tools}`), or else what GitHub derives from it. */
  readonly id: string
  readonly blocks: readonly Block[]
}

export interface Block {
  readonly kind: 'paragraph' | 'list item' | 'table row' | 'code block'
  /** A code block is whole, with its fences. */
  readonly text: string
}

// As in CommonMark, a line of a paragraph that begins with another number than 1 does not begin a list.
const PARTS =
  /^(?<code> *```[\s\S]*?^ *```)$|^(?<level>#+) (?<heading>.*)$|^(?<row>\|.*)$|^ *(?:-|\d+\.) (?<item>.+(?:\n(?! *(?:-|\d+\.|#+) | *```|\|).+)*)|^(?<paragraph>.+(?:\n(?!(?:-|1\.|#+) | *```|\|).+)*)/gm

/** Reads the sections of a page in order. What stands before the first heading is left out. */
export function sectionsOf(page: string): readonly Section[] {
  const sections: { heading: string; level: string; id: string; blocks: Block[] }[] = []
  for (const { groups = {} } of page.matchAll(PARTS)) {
    const { heading, level = '' } = groups
    if (heading !== undefined) {
      const [, id = slugOf(heading)] = /\{#([\w-]+)\}$/.exec(heading) ?? []
      sections.push({ heading, level, id, blocks: [] })
      continue
    }
    const block = blockOf(groups)
    if (block) sections.at(-1)?.blocks.push(block)
  }
  return sections
}

function blockOf({ code, row, item, paragraph = '' }: Record<string, string | undefined>): Block | undefined {
  if (code !== undefined) return { kind: 'code block', text: code }
  if (item !== undefined) return { kind: 'list item', text: item }
  if (row === undefined) return { kind: 'paragraph', text: paragraph }
  const isRuler = /^\|[-|: ]+$/.test(row)
  return isRuler ? undefined : { kind: 'table row', text: row }
}

/** The cells of a row of a table. */
export const cellsOf = (row: string): readonly string[] => row.split(/(?<!\\)\|/).slice(1, -1)

const slugOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- ]/gu, '')
    .replaceAll(' ', '-')
