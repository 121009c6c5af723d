import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sentenceEnd } from './sentence-end.ts'

/** The sentences of a text that arrives in pieces. */
function sentences(pieces: readonly string[]): readonly string[] {
  const found: string[] = []
  let held = ''
  for (const piece of pieces) {
    held += piece
    for (let end = sentenceEnd(held); end > 0; end = sentenceEnd(held)) {
      found.push(held.slice(0, end))
      held = held.slice(end)
    }
  }
  return held === '' ? found : [...found, held]
}

test.each([
  ['One. Two! Three?', ['One. ', 'Two! ', 'Three?']],
  ['He said "No." Then he left.', ['He said "No." ', 'Then he left.']],
  ['Version 1.2.3 is out. Good', ['Version 1.2.3 is out. ', 'Good']],
  ['Wait... what?! Yes.', ['Wait... ', 'what?! ', 'Yes.']],
  ['One\nTwo', ['One\n', 'Two']],
  ['你好。再见！“好。”她说', ['你好。', '再见！', '“好。”', '她说']],
])('%s', (text, expected) => {
  expect(sentences([text])).toEqual(expected)
})

test('a text has the same sentences however it arrives (property)', () => {
  const signs = fc.constantFrom('a', 'b c', '.', '!', '"', ' ', '\n', '。', '”', '…', '😀')
  fc.assert(
    fc.property(fc.array(signs, { maxLength: 40 }), (all) => {
      const text = all.join('')
      expect(sentences([...text])).toEqual(sentences([text]))
      expect(sentences([text]).join('')).toBe(text)
    }),
    { numRuns: 5_000 },
  )
})

test('a sentence that does not end is taken as one after 2,000 characters', () => {
  for (const text of ['x'.repeat(4_500), '.'.repeat(4_500), `${'x'.repeat(1_999)}😀${'x'.repeat(2_500)}`]) {
    const found = sentences([text])
    expect(found.join('')).toBe(text)
    expect(found.every((one) => one.length <= 2_000 && one.isWellFormed())).toBe(true)
    expect(sentences([...text])).toEqual(found)
  }
})
