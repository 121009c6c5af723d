import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileGlob, compileNames, LONGEST_PATTERN } from './glob.ts'

const matches = (pattern: string, text: string) => compileGlob(pattern)(text)
const named = (pattern: string, name: string) => compileNames([pattern])(name)

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

describe('a pattern for names', () => {
  test.each<[string, string, boolean]>([
    ['read_file', 'read_file', true],
    ['read_file', 'read_files', false],
    ['read_*', 'read_file', true],
    ['read_*', 'read_', true],
    ['read_*', 'pre_read_file', false],
    ['*_file', 'read_file', true],
    ['*', '', true],
    ['*', 'anything at all', true],
    ['a*b*c', 'aXbXc', true],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['**', 'x', true],
    ['a.c', 'abc', false],
    ['a.c', 'a.c', true],
    ['(a|b)+', 'a', false],
    ['[a-z]*', '[a-z]x', true],
    ['[a-z]*', 'qx', false],
    ['^a$', 'a', false],
    ['a\\*', 'a\\b', true],
    ['mcp:*/x?', 'mcp:git/x?', true],
    ['mcp:*/x?', 'mcp:git/xy', false],
  ])('%s fits %s: %s', (pattern, name, fits) => {
    expect(named(pattern, name)).toBe(fits)
  })

  test('matches the same as a regular expression with escaped characters (property)', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '*', '.', '[', '(', '+', '$', '\\'), maxLength: 8 })
    fc.assert(
      fc.property(text, text, (pattern, name) => {
        const escaped = pattern.split('*').map((piece) => piece.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        expect(named(pattern, name)).toBe(new RegExp(`^${escaped.join('.*')}$`, 's').test(name))
      }),
      { seed: 3, numRuns: 2_000 },
    )
  })

  test('that would freeze a regular expression takes no time', () => {
    const name = `${'a'.repeat(50_000)}b`
    const start = performance.now()
    expect(named(`${'*a'.repeat(500)}*c`, name)).toBe(false)
    expect(performance.now() - start).toBeLessThan(500)
  })
})
