import { Fragment, memo, type ReactNode } from 'react'

/** The little Markdown that models write: paragraphs, lists, code, bold. Contract: text stays text; no HTML, no links, no images. */
export const Prose = memo(function Prose({ text }: { readonly text: string }) {
  return text.split(/```(?:\w*\n)?/).map((part, i) => {
    const key = `${i}`
    if (i % 2 === 1) return <pre key={key}>{part.trimEnd()}</pre>
    return <Fragment key={key}>{part.split(/\n{2,}/).map(block)}</Fragment>
  })
})

function block(text: string, i: number): ReactNode {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return null
  const key = `${i}`
  if (lines.every((line) => /^\s*([-*•]|\d+\.)\s/.test(line))) {
    return (
      <ul key={key}>
        {lines.map((line) => (
          <li key={line}>{inline(line.replace(/^\s*([-*•]|\d+\.)\s/, ''))}</li>
        ))}
      </ul>
    )
  }
  return <p key={key}>{inline(lines.join('\n').replace(/^#+\s/, ''))}</p>
}

function inline(text: string): ReactNode[] {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, i) => {
    const key = `${i}`
    if (/^`.+`$/.test(part)) return <code key={key}>{part.slice(1, -1)}</code>
    if (/^\*\*.+\*\*$/.test(part)) return <strong key={key}>{part.slice(2, -2)}</strong>
    return part
  })
}
