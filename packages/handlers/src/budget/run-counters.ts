import type { CounterStore } from '@troupe/kernel'

/** The counters of one run, which go with it. */
export function runCounters(): CounterStore {
  const values = new Map<string, number>()
  return {
    async add(_, counts) {
      return counts.map(({ name, by }) => {
        const value = (values.get(name) ?? 0) + by
        values.set(name, value)
        return value
      })
    },
    prune: async () => 0,
  }
}
