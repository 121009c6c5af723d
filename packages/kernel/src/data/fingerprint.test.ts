import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprint, sha256 } from './fingerprint.ts'

const hex = (words: readonly number[]) => words.map((word) => word.toString(16).padStart(8, '0')).join('')

describe('fingerprint', () => {
  it('is the beginning of a SHA-256, whatever the length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(hex(sha256(bytes))).toBe(createHash('sha256').update(bytes).digest('hex'))
      }),
    )
    for (let length = 0; length < 200; length++) {
      const bytes = new Uint8Array(length).fill(length)
      expect(hex(sha256(bytes))).toBe(createHash('sha256').update(bytes).digest('hex'))
    }
  })

  it('does not depend on the order of keys, and on everything else', () => {
    expect(fingerprint({ a: 1, b: { c: 2, d: [3, 4] } })).toBe(fingerprint({ b: { d: [3, 4], c: 2 }, a: 1 }))
    const values = [
      null,
      0,
      '0',
      '',
      [],
      {},
      [0],
      [[0]],
      { a: 0 },
      { a: '0' },
      { b: 0 },
      'é',
      'e\u0301',
      'a'.repeat(100),
    ]
    expect(new Set(values.map(fingerprint)).size).toBe(values.length)
    expect(fingerprint('x')).toMatch(/^[0-9a-f]{24}$/)
  })
})
