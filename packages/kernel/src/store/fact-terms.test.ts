import { expect, it } from 'vitest'
import { factTerms, searchTerms } from './fact-terms.ts'

const LETTERS = 'abcdefghij'
/** A word of its own for each number. */
const word = (n: number) => `w${[...String(n)].map((digit) => LETTERS[Number(digit)]).join('')}`
const words = (count: number) => Array.from({ length: count }, (_, n) => word(n))

it('reads words without case, accents and plurals, and pairs of signs where there are no spaces', () => {
  expect(factTerms('Zoë likes 绿茶叶, 茶 & x2!')).toEqual(['zoe', 'like', '绿茶', '茶叶', '茶', 'x2'])
})

it.each([
  ['signs without spaces', '茶'.repeat(200_000)],
  ['one word', 'x'.repeat(200_000)],
  ['words', 'green tea '.repeat(100_000)],
])('reads a very long text of %s', (_, text) => {
  expect(factTerms(text).length).toBeLessThanOrEqual(2000)
  expect(searchTerms(text).length).toBeGreaterThan(0)
})

it('searches for the first and the last 32 words, wherever else they come', () => {
  const all = words(3000)
  expect(searchTerms(all.join(' '))).toEqual([...all.slice(0, 32), ...all.slice(-32)])
  expect(searchTerms([...all, word(100)].join(' ')).at(-1)).toBe(word(100))
})

it('searches for every word of a short text, once', () => {
  const all = words(64)
  expect(searchTerms([...all, ...all].join(' ')).toSorted()).toEqual(all.toSorted())
  expect(searchTerms(' …!? ')).toEqual([])
})
