import { KernelError } from '@troupe/kernel'
import { checkId, jsonText } from '@troupe/kernel/store'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromColumn, toColumn } from './column-text.ts'

/** Any UTF-16 units, with many of those that databases trip over. */
const units = fc
  .array(fc.oneof(fc.nat({ max: 0xffff }), fc.constantFrom(0, 1, 0x22, 0x5c, 0xd83d, 0xdc4d, 0xd800, 0xdfff)))
  .map((codes) => String.fromCharCode(...codes))

describe('toColumn', () => {
  it('brings every text back', () => {
    fc.assert(fc.property(units, (text) => fromColumn(toColumn(text)) === text))
  })

  it('gives what every database keeps: UTF-8 without NUL', () => {
    fc.assert(
      fc.property(units, (text) => {
        expect(toColumn(text).isWellFormed()).toBe(true)
        expect(toColumn(text)).not.toContain('\0')
      }),
    )
  })

  it('keeps different texts different, also those that look escaped', () => {
    const texts = ['\0', '\u0001', '\u0001"\\u0000"', '"\\u0000"', '\\u0000', '\ud800', '\ufffd', '']
    expect(new Set(texts.map(toColumn)).size).toBe(texts.length)
    fc.assert(fc.property(units, units, (a, b) => (toColumn(a) === toColumn(b)) === (a === b)))
  })

  it('makes a column of at most 1000 bytes of an id that checkId takes, and of no other', () => {
    const ids = fc.oneof(
      units,
      units.map((text) => text.repeat(100)),
      fc.nat({ max: 1200 }).map((n) => 'é'.repeat(n)),
    )
    fc.assert(
      fc.property(ids, (id) => {
        const fits = id !== '' && Buffer.byteLength(toColumn(id)) <= 1000
        const refused = () => checkId('store', 'id', id)
        if (fits) expect(refused).not.toThrow()
        else expect(refused).toThrow(id === '' ? 'a non-empty id' : 'id of at most 1000 bytes')
      }),
    )
  })

  it('leaves ordinary text readable', () => {
    for (const text of ['hello', '', 'naïve 👩‍🚀', '{"a":1}', 'line\nline']) expect(toColumn(text)).toBe(text)
  })
})

describe('jsonText', () => {
  it('gives text without NUL and lone surrogates', () => {
    fc.assert(
      fc.property(units, (text) => {
        const json = jsonText('store', 'a value', { text })
        expect(toColumn(json)).toBe(json)
        expect(JSON.parse(json)).toEqual({ text })
      }),
    )
  })

  it('is VALIDATION_FAILED for what has no JSON', () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    for (const value of [1n, circle, undefined, () => 1]) {
      expect(() => jsonText('store', 'a value', value)).toThrow('store: expected a value of plain JSON, got')
      try {
        jsonText('store', 'a value', value)
      } catch (error) {
        expect(KernelError.is(error, 'VALIDATION_FAILED')).toBe(true)
      }
    }
  })
})
