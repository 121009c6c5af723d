import fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonLength } from '../kit.ts'

it('is near the length of the JSON text', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const length = jsonLength(value, 1_000_000)
      const exact = JSON.stringify(value).length
      expect(length).toBeLessThanOrEqual(3 * exact + 5)
      expect(6 * length + 30).toBeGreaterThanOrEqual(exact)
    }),
  )
})

it('stops soon after the most that is asked for', () => {
  let read = 0
  const endless = {
    get next() {
      read++
      return [endless, endless]
    },
  }
  expect(jsonLength(endless, 1_000)).toBeGreaterThan(1_000)
  expect(read).toBeLessThan(1_000)
  read = 0
  const one = {
    get n() {
      return ++read
    },
  }
  expect(jsonLength(Array(10_000).fill(one), 1_000)).toBeGreaterThan(1_000)
  expect(read).toBeLessThan(1_000)
})

it.each([[undefined], [() => 1], [Symbol('a')], [1n], [new Map([[1, 2]])], [new Date(0)]])('takes %s', (value) => {
  expect(jsonLength(value, 100)).toBeLessThan(10)
})

it('counts the bytes of binary data', () => {
  expect(jsonLength({ data: new Uint8Array(5_000) }, 1_000)).toBeGreaterThan(1_000)
})
