import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileGlob, LONGEST_PATTERN } from './glob.ts'

const matches = (pattern: string, text: string) => compileGlob(pattern)(text)

describe('a glob', () => {
  test.each([
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/a/b.ts', false],
    ['src/**', 'src/a/b.ts', true],
    ['src/**', 'src/', true],
    ['src/**', 'src', false],
    ['**/*.ts', 'src/a/b.ts', true],
    ['**/*.ts', 'b.ts', false],
    ['a*b*c', 'aXbYbZc', true],
    ['a*b*c', 'aXbYb/Zc', false],
    ['a*a', 'a', false],
    ['*', '', true],
    ['*', 'a/b', false],
    ['**', 'a/b\nc', true],
    ['***', 'a/b', true],
    ['', '', true],
    ['', 'a', false],
  ])('%j on %j is %j', (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected)
  })

  test.each(['.', '?', '[a]', '{a,b}', '(a|b)+', '^a$', '\\', '\\d', '!a', '+', '$&', '\u0000', '🙂'])(
    '%j stands for itself',
    (text) => {
      expect(matches(text, text)).toBe(true)
      expect(matches(`x*${text}`, `xyz${text}`)).toBe(true)
      expect(matches(text, 'a')).toBe(false)
      expect(matches(`x*${text}`, 'xyza')).toBe(false)
    },
  )

  test('agrees with a regular expression, whatever pattern and text (property)', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.'), maxLength: 12 })
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '*', '**'), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (given, value) => {
        const source = given.replace(/\*+|\./g, (found) => (found === '.' ? '\\.' : found === '*' ? '[^/]*' : '[^]*'))
        expect(matches(given, value)).toBe(new RegExp(`^${source}$`).test(value))
      }),
      { seed: 6, numRuns: 5000 },
    )
  })

  test('that would drive a regular expression mad is walked in one go', () => {
    for (const wild of ['*a', '**a', '*a**a', '*aaaaaaaa']) {
      const pattern = `${wild.repeat(LONGEST_PATTERN / wild.length - 1)}b*`
      const start = performance.now()
      expect(matches(pattern, 'a'.repeat(50_000))).toBe(false)
      expect(performance.now() - start).toBeLessThan(2000)
    }
  })
})
