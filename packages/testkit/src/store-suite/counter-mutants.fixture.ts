import type { CounterStore, Store } from '@troupe/kernel'
import { gap, type StoreMutant } from './store-mutant.fixture.ts'

/** A store that is wrong about counters. */
function counting(change: (counters: CounterStore) => Partial<CounterStore>): StoreMutant['ports'] {
  return ({ counters }: Store) => (counters ? { counters: { ...counters, ...change(counters) } } : {})
}

/** Stores that are wrong about counters. */
export const counterMutants: readonly StoreMutant[] = [
  {
    wrong: 'a counter is read and written in two steps',
    caught: ['a counter that is added to many times at once loses nothing'],
    ports: counting(({ add }) => ({
      async add(owner, counts) {
        const before = await add(
          owner,
          counts.map((count) => ({ ...count, by: 0 })),
        )
        await gap()
        const now = await add(
          owner,
          counts.map((count) => ({ ...count, by: 0 })),
        )
        return add(
          owner,
          counts.map((count, i) => ({ ...count, by: (before[i] ?? 0) + count.by - (now[i] ?? 0) })),
        )
      },
    })),
  },
  {
    wrong: 'all owners share their counters',
    caught: ['counters of another owner are neither seen nor changed'],
    ports: counting(({ add }) => ({
      add: (owner, counts) => add(owner && { app: 'app', user: 'all' }, counts),
    })),
  },
  {
    wrong: 'the answers come in the order of the names',
    caught: ['counters add up, and each call gives what they have then'],
    ports: counting(({ add }) => ({
      add: (owner, counts) =>
        add(owner, Array.isArray(counts) ? [...counts].sort((a, b) => (a.name < b.name ? -1 : 1)) : counts),
    })),
  },
  {
    wrong: 'counters never expire',
    caught: [
      'a counter begins again when it has expired',
      'prune deletes counters that have expired, and no more than it may',
    ],
    ports: counting(({ add }) => ({
      add: (owner, counts) =>
        add(owner, Array.isArray(counts) ? counts.map((count) => ({ ...count, expiresAt: 1e20 })) : counts),
    })),
  },
  {
    wrong: 'reading a counter makes one',
    caught: ['reading makes no counter and does not keep one'],
    ports: counting(({ add }) => ({
      async add(owner, counts) {
        const named = counts.filter(({ by }) => by === 0)
        await add(
          owner,
          named.map((count) => ({ ...count, by: 1 })),
        )
        await add(
          owner,
          named.map((count) => ({ ...count, by: -1 })),
        )
        return add(owner, counts)
      },
    })),
  },
  {
    wrong: 'prune deletes as many as it likes',
    caught: ['prune deletes counters that have expired, and no more than it may'],
    ports: counting(({ prune }) => ({ prune: (query) => prune({ ...query, limit: 1000 }) })),
  },
]
