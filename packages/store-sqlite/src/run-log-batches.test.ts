import type { Json } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { sqliteStore } from './sqlite-store.ts'

const ref = { app: 'app', user: 'anna', threadId: 't' }
const SMALL = 1_000
const LARGE = 100

test('a follower gets a log in batches of limited size, also if its events grow', async () => {
  await using store = sqliteStore({ path: ':memory:' })
  await store.threads.open(ref)
  const small = Array.from({ length: SMALL }, (_, i): Json => `s${i}`)
  const large = Array.from({ length: LARGE }, (_, i): Json => `l${i} ${'x'.repeat(100_000)}`)
  let last = 0
  for (const event of small) last = await store.runLog.append(ref, 'r', last, [event])
  await store.runLog.append(ref, 'r', last, large, true)

  const sizes: number[] = []
  const found: Json[] = []
  const { signal } = new AbortController()
  for await (const batch of store.runLog.follow(ref, 'r', { signal })) {
    sizes.push(JSON.stringify(batch).length)
    for (const { seq, event } of batch) {
      expect(seq).toBe(found.length + 1)
      found.push(event)
    }
  }
  expect(found).toEqual([...small, ...large])
  expect(Math.max(...sizes)).toBeLessThan(500_000)
  expect(sizes.length).toBeLessThan(100)
})
