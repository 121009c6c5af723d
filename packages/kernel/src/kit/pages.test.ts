import fc from 'fast-check'
import { expect, it } from 'vitest'
import { pages } from '../kit.ts'

it('reads every row once, in order, whatever the size of a page', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(30), fc.integer({ min: 1, max: 12 }), async (count, limit) => {
      const rows = Array.from({ length: count }, (_, seq) => ({ seq }))
      let reads = 0
      const read = async ({ after = -1, limit: size }: { readonly after?: number; readonly limit: number }) => {
        reads++
        return rows.filter(({ seq }) => seq > after).slice(0, size)
      }
      const seen: unknown[] = []
      for await (const page of pages(limit, read)) seen.push(...page)
      expect(seen).toEqual(rows)
      expect(reads).toBe(Math.floor(count / limit) + 1)
    }),
  )
})

it('reads no further than it is asked to', async () => {
  let reads = 0
  const read = async () => [{ seq: ++reads }]
  for await (const _ of pages(1, read)) break
  expect(reads).toBe(1)
})
