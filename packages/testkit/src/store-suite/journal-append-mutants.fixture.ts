import type { JournalStore, Store } from '@troupe/kernel'
import { gap, keyOf, remembering, type StoreMutant } from './store-mutant.fixture.ts'

/** A store that appends otherwise. */
function appending({ journal }: Store, append: JournalStore['append']): Partial<Store> {
  return { journal: { ...journal, append } }
}

/** Stores that are wrong about appends to journals. */
export const journalAppendMutants: readonly StoreMutant[] = [
  {
    wrong: 'append does not look at the token',
    caught: [
      'an append with a stale token is LEASE_LOST and writes nothing',
      'an append of no entries is refused like any other',
      'a late append to the journal is LEASE_LOST and makes nothing, also when the thread was opened and leased again',
    ],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      const append: JournalStore['append'] = (ref, runId, entries, token) =>
        store.journal.append(ref, runId, entries, given.get(keyOf(ref))?.token ?? token)
      return { leases, ...appending(store, append) }
    },
  },
  {
    wrong: 'append takes any token that was ever given',
    caught: ['the right token does not help a foreign append to a journal'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      const append: JournalStore['append'] = (ref, runId, entries, token) => {
        const known = [...given.values()].some((lease) => lease.token === token)
        return store.journal.append(ref, runId, entries, (known && given.get(keyOf(ref))?.token) || token)
      }
      return { leases, ...appending(store, append) }
    },
  },
  {
    wrong: 'append does not look at the run',
    caught: [
      'an append for a run that the journal does not belong to is NOT_FOUND, whichever run holds the lease',
      'an append of no entries is refused like any other',
      'a journal that begins takes the place of any other',
    ],
    ports: (store) =>
      appending(store, async (ref, runId, entries, token) => {
        const own = (await store.journal.read(ref))?.runId ?? runId
        return store.journal.append(ref, own, entries, token)
      }),
  },
  {
    wrong: 'append begins a journal that is not there',
    caught: [
      'an append for a run that the journal does not belong to is NOT_FOUND, whichever run holds the lease',
      'a late append to the journal is LEASE_LOST and makes nothing, also when the thread was opened and leased again',
    ],
    ports: (store) =>
      appending(store, async (ref, runId, entries, token) => {
        const [thread, journal] = [await store.threads.get(ref), await store.journal.read(ref)]
        if (thread && !journal) await store.threads.commit(ref, { journal: { runId, entries: [] } }, token)
        return store.journal.append(ref, runId, entries, token)
      }),
  },
  {
    wrong: 'only the run that holds the lease can append',
    caught: ['an append for a run that the journal does not belong to is NOT_FOUND, whichever run holds the lease'],
    ports: (store) =>
      appending(store, async (ref, runId, entries, token) => {
        const holder = (await store.threads.get(ref))?.runId
        return store.journal.append(ref, holder === runId ? runId : 'nobody', entries, token)
      }),
  },
  {
    wrong: 'append opens the thread it is for',
    caught: ['an append to a thread nobody opened is NOT_FOUND under its lease, LEASE_LOST without'],
    ports: (store) =>
      appending(store, async (ref, runId, entries, token) => {
        await store.threads.open(ref)
        return store.journal.append(ref, runId, entries, token)
      }),
  },
  {
    wrong: 'an append of no entries is not looked at',
    caught: ['an append of no entries is refused like any other'],
    ports: (store) =>
      appending(store, async (ref, runId, entries, token) => {
        if (entries.length > 0) await store.journal.append(ref, runId, entries, token)
      }),
  },
  {
    wrong: 'append is a commit',
    caught: ['an append leaves the thread as it was, version and time too'],
    ports: (store) =>
      appending(store, async (ref, runId, entries, token) => {
        await store.journal.append(ref, runId, entries, token)
        await store.threads.commit(ref, {}, token)
      }),
  },
  {
    wrong: 'append fails once the lease has expired, though nobody took it',
    caught: ['an append under an expired lease that nobody took is kept'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      const append: JournalStore['append'] = (ref, runId, entries, token) => {
        const expired = (given.get(keyOf(ref))?.expiresAt ?? 0) <= clock.now()
        return store.journal.append(ref, runId, entries, expired ? -1 : token)
      }
      return { leases, ...appending(store, append) }
    },
  },
  {
    wrong: 'append writes back the journal it read, so entries get lost',
    caught: ['appends at once all arrive, each whole'],
    ports: (store) =>
      appending(store, async (ref, runId, entries, token) => {
        const before = (await store.journal.read(ref))?.entries ?? []
        await gap()
        await store.threads.commit(ref, { journal: { runId, entries: [...before, ...entries] } }, token)
      }),
  },
  {
    wrong: 'append writes entry by entry',
    caught: ['appends at once all arrive, each whole'],
    ports: (store) =>
      appending(store, async (ref, runId, entries, token) => {
        for (const entry of [...entries]) {
          await gap()
          await store.journal.append(ref, runId, [entry], token)
        }
      }),
  },
]
