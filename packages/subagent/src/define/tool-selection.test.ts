import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchesPattern, toolPatterns } from './tool-selection.ts'

describe('a pattern', () => {
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
    expect(matchesPattern(pattern, name)).toBe(fits)
  })

  test('means what the same regular expression with escaped characters means (property)', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '*', '.', '[', '(', '+', '$', '\\'), maxLength: 8 })
    fc.assert(
      fc.property(text, text, (pattern, name) => {
        const escaped = pattern.split('*').map((piece) => piece.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        expect(matchesPattern(pattern, name)).toBe(new RegExp(`^${escaped.join('.*')}$`, 's').test(name))
      }),
      { seed: 3, numRuns: 2_000 },
    )
  })

  test('that would freeze a regular expression takes no time', () => {
    const name = `${'a'.repeat(50_000)}b`
    const start = performance.now()
    expect(matchesPattern(`${'*a'.repeat(500)}*c`, name)).toBe(false)
    expect(performance.now() - start).toBeLessThan(500)
  })
})

describe('a selection', () => {
  test('is a list of what is allowed, or allow and deny', () => {
    expect(toolPatterns('t', ['a'])).toEqual({ allow: ['a'], deny: [] })
    expect(toolPatterns('t', { deny: ['b'] })).toEqual({ allow: [], deny: ['b'] })
  })

  test.each<[string, unknown]>([
    ['a text', 'read_file'],
    ['an empty name', ['']],
    ['a number', [3]],
    ['an unknown key', { allowed: [] }],
    ['allow that is no list', { allow: 'x' }],
    ['nothing', null],
  ])('%s is CONFIG_INVALID', (_, selection) => {
    expect(() => toolPatterns('t', selection as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})
