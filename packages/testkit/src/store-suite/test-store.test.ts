import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { broken } from '../suite/broken.ts'
import { leaseMutants } from './store-mutants-leases.ts'
import { recordMutants } from './store-mutants-records.ts'
import { threadMutants } from './store-mutants-threads.ts'
import { type StoreFactory, storeClauses, testStore } from './test-store.ts'

const sound: StoreFactory = (clock) => memoryStore({ clock })

testStore('memoryStore', sound)

describe('testStore', () => {
  it('has clauses with names of their own, which a sound store keeps', async () => {
    const clauses = storeClauses(sound)
    expect(new Set(clauses.map(({ name }) => name)).size).toBe(clauses.length)
    expect(await broken(clauses)).toEqual([])
  })

  it('disposes the store of a clause that fails', async () => {
    let disposed = 0
    const failing: StoreFactory = (clock) => ({
      ...memoryStore({ clock }),
      threads: undefined as never,
      [Symbol.asyncDispose]: async () => void disposed++,
    })
    const [clause] = storeClauses(failing)
    await expect(clause?.run()).rejects.toThrow()
    expect(disposed).toBe(1)
  })

  for (const { wrong, caught, ports } of [...threadMutants, ...recordMutants, ...leaseMutants]) {
    it(`notices that ${wrong}`, async () => {
      const clauses = storeClauses((clock) => {
        const store = memoryStore({ clock })
        return { ...store, ...ports(store, clock) }
      })
      expect(await broken(clauses.filter(({ name }) => caught.includes(name)))).toEqual(
        expect.arrayContaining([...caught]),
      )
    })
  }
})
