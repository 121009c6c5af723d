import { type MemoExoticComponent, memo, type ReactNode } from 'react'
import { type Block, blocksOf } from './blocks.ts'
import type { TextProps } from './components.ts'

/** Renders the simple Markdown that models write. Contract: text stays text; no HTML, no links, no images. */
export const Markdown: MemoExoticComponent<(props: TextProps) => ReactNode> = memo(function Markdown({ text }) {
  return blocksOf(text).map((block, i) => <BlockView key={`${i}`} block={block} />)
})

/** A block. Contract: while a text grows, only its last block is rendered. */
const BlockView = memo(function BlockView({ block }: { readonly block: Block }): ReactNode {
  switch (block.kind) {
    case 'code':
      return <pre>{block.text}</pre>
    case 'heading':
      return <p className="troupe-heading">{inline(block.text)}</p>
    case 'quote':
      return <blockquote>{inline(block.text)}</blockquote>
    case 'bullets':
      return <ul>{itemsOf(block.items)}</ul>
    case 'numbers':
      return <ol start={block.start}>{itemsOf(block.items)}</ol>
    case 'table':
      return <TableView rows={block.rows} />
    case 'text':
      return <p>{inline(block.text)}</p>
  }
}, isSameBlock)

function isSameBlock(before: { readonly block: Block }, after: { readonly block: Block }): boolean {
  return JSON.stringify(before.block) === JSON.stringify(after.block)
}

function TableView({ rows: [head = [], ...rows] }: { readonly rows: readonly (readonly string[])[] }) {
  const cells = (row: readonly string[], Cell: 'th' | 'td') =>
    row.map((cell, i) => <Cell key={`${i}`}>{inline(cell)}</Cell>)
  return (
    <table>
      <thead>
        <tr>{cells(head, 'th')}</tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={`${i}`}>{cells(row, 'td')}</tr>
        ))}
      </tbody>
    </table>
  )
}

function itemsOf(items: readonly { readonly depth: number; readonly text: string }[]): ReactNode[] {
  return items.map(({ depth, text }, i) => (
    <li key={`${i}`} style={{ marginLeft: `${depth}rem` }}>
      {inline(text)}
    </li>
  ))
}

function inline(text: string): ReactNode[] {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|\*[^*\s](?:[^*\n]*[^*\s])?\*)/).map((part, i) => {
    const key = `${i}`
    if (/^`.+`$/.test(part)) return <code key={key}>{part.slice(1, -1)}</code>
    if (/^\*\*.+\*\*$/.test(part)) return <strong key={key}>{part.slice(2, -2)}</strong>
    if (/^\*.+\*$/.test(part)) return <em key={key}>{part.slice(1, -1)}</em>
    return part
  })
}
