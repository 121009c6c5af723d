import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from './canonical-json.ts'

describe('canonicalJson', () => {
  it('does not depend on the order of keys, at any depth', () => {
    const one = JSON.parse('{"b":{"y":[{"q":1,"p":2}],"x":null},"a":"1"}')
    const other = JSON.parse('{"a":"1","b":{"x":null,"y":[{"p":2,"q":1}]}}')
    expect(canonicalJson(one)).toBe(canonicalJson(other))
  })

  it('is different for values that a tool can distinguish', () => {
    const texts = ['1', '"1"', 'null', '"null"', '1e999', '-1e999', '0', '-0', '[]', '{}', '[[]]', '{"a":1}', '["a",1]']
    expect(new Set(texts.map((text) => canonicalJson(JSON.parse(text)))).size).toBe(texts.length)
  })

  it('keeps hostile keys', () => {
    const hostile = JSON.parse('{"__proto__":{"admin":true},"constructor":1}')
    expect(canonicalJson(hostile)).toBe('{"__proto__":{"admin":true},"constructor":1}')
    expect(canonicalJson(hostile)).not.toBe(canonicalJson({ constructor: 1 }))
  })

  it('is JSON of the same value, whatever the value (property)', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        // -0 does not come through what turns the keys around.
        const value = JSON.parse(text.replaceAll('-0', '0'))
        expect(JSON.parse(canonicalJson(value))).toEqual(value)
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
      }),
    )
  })
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(reversed(item))}`)
  return JSON.parse(`{${entries.reverse().join(',')}}`)
}
