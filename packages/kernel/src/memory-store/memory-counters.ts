import { checkCounts } from '../store/check-counts.ts'
import { checkMaintenance } from '../store/check-page.ts'
import { checkOwner } from '../store/check-ref.ts'
import type { CounterStore } from '../store/counter-store.ts'
import { findOwner, type MemoryData, refuseClosed, WHO } from './memory-data.ts'

/** Counters in memory. */
export function memoryCounters(data: MemoryData): CounterStore {
  return {
    async add(owner, counts) {
      checkOwner(WHO, owner)
      checkCounts(WHO, counts)
      const own = findOwner(data, owner)
      const now = data.now()
      return counts.map(({ name, by, expiresAt }) => {
        const counter = own.counters.get(name)
        const value = (counter && counter.expiresAt > now ? counter.value : 0) + by
        if (by === 0) return value
        own.counters.set(name, { value, expiresAt })
        data.owners.set(own.key, own)
        return value
      })
    },

    async prune(query) {
      refuseClosed(data)
      checkMaintenance(WHO, query)
      const { before, limit } = query
      let deleted = 0
      for (const { counters } of data.owners.values()) {
        for (const [name, { expiresAt }] of counters) {
          if (deleted === limit) return deleted
          if (expiresAt < before && counters.delete(name)) deleted++
        }
      }
      return deleted
    },
  }
}
