import { memoryStore } from '@troupe/kernel/memory-store'
import { sqliteStore } from '@troupe/store-sqlite'
import { describe, expect, it } from 'vitest'
import { cancels } from './cancels.ts'
import { cutConnections } from './cut-connections.ts'
import { firstEventMs } from './first-event-ms.ts'
import { readersThatNeverRead } from './readers-that-never-read.ts'

/** A short version of `pnpm test:load`. */
describe('load and faults over HTTP', { timeout: 60_000 }, () => {
  it('readers that never read cost little and hold nobody up', async () => {
    await using store = sqliteStore({ path: ':memory:' })
    const { growthMegabytes } = await readersThatNeverRead(store, { runs: 40, stalled: 6 })
    expect(growthMegabytes).toBeLessThan(128)
  })

  it('runs that are cut and resumed have no gap and no duplicate', async () => {
    const figures = await cutConnections(memoryStore(), 40)
    expect(figures).toMatchObject({ gaps: 0, duplicates: 0 })
    expect(figures.cuts).toBeGreaterThan(40)
  })

  it.each([
    ['after the stop is answered', false],
    ['beside the stop', true],
  ])('a thread can be used %s', async (_, beside) => {
    const { slowestMs, badEnds, unusable } = await cancels(memoryStore(), 40, beside)
    expect({ badEnds, unusable }).toEqual({ badEnds: 0, unusable: 0 })
    expect(slowestMs).toBeLessThan(2_000)
  })

  it('the first event comes soon', async () => {
    // On a machine that others use; `pnpm test:load` holds it to 3 ms.
    expect((await firstEventMs(memoryStore(), 50)).median).toBeLessThan(30)
  })
})
