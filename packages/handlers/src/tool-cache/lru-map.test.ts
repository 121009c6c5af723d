import fc from 'fast-check'
import { expect, it } from 'vitest'
import { LruMap } from './lru-map.ts'

it('holds what was used last, like a list would (property)', () => {
  const steps = fc.array(
    fc.record({ write: fc.boolean(), key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), value: fc.nat() }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), steps, (max, list) => {
      const map = new LruMap<number>(max)
      let model: [string, number][] = []
      for (const { write, key, value } of list) {
        const before = model.find(([name]) => name === key)
        const after: [string, number] | undefined = write ? [key, value] : before
        if (write) map.set(key, value)
        else expect(map.get(key)).toBe(before?.[1])
        if (after) model = [...model.filter(([name]) => name !== key), after].slice(-max)
        expect(map.size).toBe(model.length)
      }
    }),
  )
})
