import { KernelError } from '@troupe/kernel'
import fc from 'fast-check'
import picomatch from 'picomatch'
import { describe, expect, test } from 'vitest'
import { LONGEST_PATTERN } from '../glob.ts'
import { compilePathGlob } from './path-glob.ts'

const makeError = (expected: string) => new KernelError('CONFIG_INVALID', expected)
const matches = (pattern: string, path: string) => compilePathGlob(pattern, makeError).matches(path.split('/'))
const byPicomatch = (pattern: string, path: string) => picomatch(pattern, { dot: true })(path)

describe('a pattern for paths', () => {
  test.each([
    ['**/.env', '.env', true],
    ['**/.env', 'a/b/.env', true],
    ['**/.env', 'a.env', false],
    ['secrets/**', 'secrets', true],
    ['secrets/**', 'secrets/a/b', true],
    ['secrets/**', 'secrets2/a', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/a/b.ts', false],
    ['src/**/*.ts', 'src/b.ts', true],
    ['./src/*', 'src/a', true],
    ['/etc/**', '/etc/passwd', true],
    ['/etc/**', 'etc/passwd', false],
    ['a?c', 'abc', true],
    ['a?c', 'a/c', false],
    ['*.{key,pem}', 'a.pem', true],
    ['{a,b/{c,d}}/*', 'b/d/x', true],
    ['app/\\[id\\]/*', 'app/[id]/page', true],
    ['**', 'a/b', true],
  ])('%j on %j is %j, as for picomatch', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected)
    expect(byPicomatch(pattern, path)).toBe(expected)
  })

  test('matches what picomatch matches, whatever pattern and path (property)', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-', '+', '$', '^'), minLength: 1, maxLength: 4 })
    const names = fc.array(
      name.filter((one) => !/^\.+$/.test(one)),
      { minLength: 1, maxLength: 5 },
    )
    const piece = fc.constantFrom('a', 'b', '.', '-', '$', '^', '*', '?', '{a,b}', '{a?,.b}')
    const segment = fc.oneof(
      { weight: 1, arbitrary: fc.constant('**') },
      {
        weight: 2,
        arbitrary: fc
          .array(piece, { minLength: 1, maxLength: 4 })
          .map((pieces) => pieces.join('').replaceAll(/\*+/g, '*')),
      },
    )
    const root = fc.constantFrom('', '', '', '/')
    fc.assert(
      fc.property(
        root,
        fc.array(segment, { minLength: 1, maxLength: 5 }),
        root,
        names,
        (top, segments, under, path) => {
          const pattern = top + segments.join('/')
          // Here `**` may stand for no name everywhere; picomatch makes an exception at the beginning of `/**/a` and at the end of `*/**`.
          fc.pre(!pattern.startsWith('/**') && !pattern.endsWith('*/**'))
          fc.pre(segments.every((one) => !/^\.+$/.test(one)) && pattern.split('{').length <= 6)
          const text = under + path.join('/')
          expect([pattern, text, matches(pattern, text)]).toEqual([pattern, text, byPicomatch(pattern, text)])
        },
      ),
      { seed: 19, numRuns: 20_000 },
    )
  })

  test.each([
    '!a',
    'a**',
    '**a',
    'a/b**/c',
    '***',
    '[ab]',
    'a]',
    '+(a|b)',
    'a)',
    '{a}',
    '{a',
    'a}',
    '{a,}',
    'a/',
    'a//b',
    'a/./b',
    'a/../b',
    'a\\',
    '{a,b}'.repeat(8),
  ])('%j, which would mean something else than it says, is refused', (pattern) => {
    expect(() => compilePathGlob(pattern, makeError)).toThrow(KernelError)
  })

  test('takes a time that grows with pattern and path, and no more', () => {
    const pattern = `${'*a'.repeat(LONGEST_PATTERN / 2 - 1)}b`
    const start = performance.now()
    expect(matches(pattern, 'a'.repeat(50_000))).toBe(false)
    expect(matches(`${'**/'.repeat(80)}b`, 'a/'.repeat(5_000))).toBe(false)
    expect(performance.now() - start).toBeLessThan(2000)
  })
})
