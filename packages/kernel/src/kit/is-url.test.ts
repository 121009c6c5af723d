import { format } from '@cfworker/json-schema'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isUrl } from '../kit.ts'

const isLibraryUrl = format.url as (text: string) => boolean

it.each([
  ['https://example.com', true],
  ['http://ann:secret@example.com:8080/path?q=1#part', true],
  ['ftp://a@b@c.de/x@y', true],
  ['HTTPS://EXAMPLE.COM', true],
  ['https://bücher.example/', true],
  ['http://8.8.8.8/', true],
  ['http://10.0.0.1/', false],
  ['http://192.168.1.1', false],
  ['http://localhost', false],
  ['http://-a.com', false],
  ['http://a--b.com', false],
  ['http://@a.com', false],
  ['http://a.com?q', false],
  ['mailto:a@example.com', false],
  ['http://a.com/ b', false],
])('decides as the library: %s is a URL: %s', (text, expected) => {
  expect([isUrl(text), isLibraryUrl(text)]).toEqual([expected, expected])
})

it('decides as the library for any short text', () => {
  const piece = fc.constantFrom(
    'a',
    'B',
    'ü',
    '-',
    '.',
    '@',
    '/',
    ':',
    '1',
    '10',
    '255',
    '80',
    'com',
    'a.bc',
    '127.0.0.1',
    '8.8.8.8',
    '?',
    ' ',
  )
  const texts = fc.array(piece, { maxLength: 9 }).map((pieces) => `http://${pieces.join('')}`)
  let urls = 0
  fc.assert(
    fc.property(texts, (text) => {
      if (isUrl(text)) urls++
      expect(isUrl(text)).toBe(isLibraryUrl(text))
    }),
    { numRuns: 5_000, seed: 1 },
  )
  expect(urls).toBeGreaterThan(100)
})

it('takes linear time for texts that the pattern of the library never finishes', () => {
  for (const part of ['a', '1', 'a-', 'a.', 'a@', 'a.bc/@', '1.1.1.1', ':80', '8172.30.3.453']) {
    expect(isUrl(`http://${part.repeat(100_000)}\u0000`)).toBe(part.includes('/'))
  }
})
