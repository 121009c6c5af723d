import { describe, expect, it } from 'vitest'
import { blocksOf } from './blocks.ts'

const items = (...texts: string[]) => texts.map((text) => ({ depth: 0, text }))

describe('the blocks of a text', () => {
  it('are paragraphs, which keep their lines', () => {
    expect(blocksOf('One\ntwo\n\n\nThree')).toEqual([
      { kind: 'text', text: 'One\ntwo' },
      { kind: 'text', text: 'Three' },
    ])
    expect(blocksOf('')).toEqual([])
  })

  it('are lists too, right after a line, with the numbers they have', () => {
    expect(blocksOf('Steps:\n3. First\n4. First\n- a\n  - b')).toEqual([
      { kind: 'text', text: 'Steps:' },
      { kind: 'numbers', start: 3, items: items('First', 'First') },
      { kind: 'bullets', items: [...items('a'), { depth: 1, text: 'b' }] },
    ])
  })

  it('are headings, quotes and tables', () => {
    expect(blocksOf('# One\n## Two\n> said\n> so\n| a | b |\n|:--|--:|\n| 1 |  |')).toEqual([
      { kind: 'heading', text: 'One' },
      { kind: 'heading', text: 'Two' },
      { kind: 'quote', text: 'said\nso' },
      {
        kind: 'table',
        rows: [
          ['a', 'b'],
          ['1', ''],
        ],
      },
    ])
  })

  it('are code, of any language, with the end still to come', () => {
    const code = { kind: 'code', text: 'x = 1\n\n# no heading' }
    expect(blocksOf('So:\n```c++ title=a\nx = 1\n\n# no heading\n```\nDone')).toEqual([
      { kind: 'text', text: 'So:' },
      code,
      { kind: 'text', text: 'Done' },
    ])
    expect(blocksOf('```py\nx = 1\n\n# no heading')).toEqual([code])
    expect(blocksOf('```p')).toEqual([{ kind: 'code', text: '' }])
  })

  it('are plain text where something only looks like a mark', () => {
    for (const text of ['-5 degrees', '#hash', '2026 was', 'a | b', '**bold** first']) {
      expect(blocksOf(text)).toEqual([{ kind: 'text', text }])
    }
  })
})
