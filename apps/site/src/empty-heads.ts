import type { MarkdownRenderer } from 'vitepress'

/** Leaves out the head of a table that has no words in it: Markdown demands one, and readers do not need it. */
export function withoutEmptyHeads(md: MarkdownRenderer): void {
  md.core.ruler.push('empty-heads', ({ tokens }) => {
    for (let start = tokens.length - 1; start >= 0; start--) {
      if (tokens[start]?.type !== 'thead_open') continue
      const length = tokens.slice(start).findIndex(({ type }) => type === 'thead_close') + 1
      const isEmpty = tokens.slice(start, start + length).every(({ content }) => content === '')
      if (isEmpty) tokens.splice(start, length)
    }
  })
}
