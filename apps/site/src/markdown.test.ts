import { describe, expect, it } from 'vitest'
import { headingsOf, mapLinks, sectionOf, summaryOf, titleOf } from './markdown.ts'

const PAGE = `# Tools and \`src/*.ts\`

A tool is a **function** of [yours](tools.md). It is called.

## What it's for

\`\`\`md
## not a heading, [not a link](code.md)
\`\`\`

## 工具 {#tools}

### Deeper

Text.

## What it's for
`

describe('a page', () => {
  it('has a title and a summary without marks', () => {
    expect(titleOf(PAGE)).toBe('Tools and src/*.ts')
    expect(summaryOf(PAGE)).toBe('A tool is a function of yours.')
    expect(summaryOf('---\nlayout: home\n---\n# A\n\nOne: two.')).toBe('One.')
  })

  it('has the anchors of GitHub, numbered if a heading comes twice, or its own', () => {
    expect(headingsOf(PAGE).map(({ anchor }) => anchor)).toEqual([
      'tools-and-srcts',
      'what-its-for',
      'tools',
      'deeper',
      'what-its-for-1',
    ])
  })

  it('has sections, which end at the next heading of their level', () => {
    expect(sectionOf(PAGE, 'tools')).toBe('### Deeper\n\nText.')
    expect(sectionOf(PAGE, 'deeper')).toBe('Text.')
    expect(() => sectionOf(PAGE, 'nothing')).toThrow('no section #nothing')
  })
})

describe('mapLinks', () => {
  const urls = (markdown: string) => {
    const found: string[] = []
    mapLinks(markdown, ({ url, text, isImage }) => {
      found.push(`${isImage ? '!' : ''}${text} -> ${url}`)
      return ''
    })
    return found
  }

  it('finds links and images, with code and brackets in their texts', () => {
    expect(urls('[a](1.md) [`b[0]`](2.md) ![c](3.png) [d [e]](4.md) [f\ng](5.md)')).toEqual([
      'a -> 1.md',
      '`b[0]` -> 2.md',
      '!c -> 3.png',
      'd [e] -> 4.md',
      'f\ng -> 5.md',
    ])
  })

  it('leaves code as it is', () => {
    const text = '`[a](1.md)`\n\n```md\n[b](2.md)\n```\n\n```ts\nfoo[0](bar)\n```\n'
    expect(mapLinks(text, () => 'changed')).toBe(text)
  })

  it('changes what is around the code', () => {
    expect(mapLinks('[a](1.md)\n```\n[b](2.md)\n```\n[c](3.md)', ({ text }) => text)).toBe('a\n```\n[b](2.md)\n```\nc')
  })
})
