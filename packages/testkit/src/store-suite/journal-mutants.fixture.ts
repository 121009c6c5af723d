import type { JournalStore, Json, Store, Thread, ThreadCommit, ThreadRef } from '@troupe/kernel'
import { keyOf, remembering, type StoreMutant } from './store-mutant.fixture.ts'

/** A store whose commits have another journal. */
function beginning({ threads }: Store, change: (journal: ThreadCommit['journal']) => ThreadCommit['journal']) {
  const commit: Store['threads']['commit'] = (ref, { journal, ...rest }, token) => {
    const changed = change(journal)
    return threads.commit(ref, { ...rest, ...(changed !== undefined && { journal: changed }) }, token)
  }
  return { threads: { ...threads, commit } }
}

/** A store whose journals are read otherwise. */
function reading({ journal }: Store, change: (entries: readonly Json[]) => readonly Json[]): Partial<Store> {
  const read: JournalStore['read'] = async (ref) => {
    const found = await journal.read(ref)
    return found && { ...found, entries: change(found.entries) }
  }
  return { journal: { ...journal, read } }
}

const wellFormed = (entry: Json): Json => JSON.parse(JSON.stringify(entry).replaceAll('\\ud800', '\ufffd'))

/** Stores that are wrong about how journals begin, end and are read. */
export const journalMutants: readonly StoreMutant[] = [
  {
    wrong: 'a thread without a journal has an empty one',
    caught: [
      'a thread without a journal reads as undefined and names no unfinished run',
      'a foreign thread reads as absent in every port',
    ],
    ports: ({ journal }) => ({
      journal: { ...journal, read: async (ref) => (await journal.read(ref)) ?? { runId: '', entries: [] } },
    }),
  },
  {
    wrong: 'the run that holds the lease is the unfinished one',
    caught: ['a thread names the run of its journal as unfinished, until a commit removes it'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async get(ref) {
          const { unfinished, ...thread } = (await threads.get(ref)) ?? ({} as Thread)
          return thread.ref && { ...thread, ...(thread.runId && { unfinished: thread.runId }) }
        },
      },
    }),
  },
  {
    wrong: 'a list of threads does not name unfinished runs',
    caught: ['a thread names the run of its journal as unfinished, until a commit removes it'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        list: async (owner, page) => (await threads.list(owner, page)).map(({ unfinished, ...thread }) => thread),
      },
    }),
  },
  {
    wrong: 'a journal that begins is added to the one before',
    caught: ['a journal that begins takes the place of any other'],
    ports: ({ threads, journal }) => ({
      threads: {
        ...threads,
        async commit(ref, commit, token) {
          const before = (commit.journal && (await journal.read(ref))?.entries) ?? []
          const begun = commit.journal && { ...commit.journal, entries: [...before, ...commit.journal.entries] }
          return threads.commit(ref, { ...commit, ...(begun && { journal: begun }) }, token)
        },
      },
    }),
  },
  {
    wrong: 'a journal without entries is not there',
    caught: ['a journal may begin without entries'],
    ports: (store) => beginning(store, (journal) => (journal?.entries.length === 0 ? null : journal)),
  },
  {
    wrong: 'every commit ends the run',
    caught: ['a commit without a journal leaves it as it is'],
    ports: (store) => beginning(store, (journal) => journal ?? null),
  },
  {
    wrong: 'a journal begins and ends in a commit of its own',
    caught: ['a journal begins and ends in the same commit as everything else'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async commit(ref, { journal, ...rest }, token) {
          if (journal !== undefined) await threads.commit(ref, { journal }, token)
          return threads.commit(ref, rest, token)
        },
      },
    }),
  },
  {
    wrong: 'a commit removes the journal before it looks at the token',
    caught: ['a refused commit leaves the journal as it was'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases,
        threads: {
          ...store.threads,
          async commit(ref, commit, token) {
            if (commit.journal === null) {
              await store.threads.commit(ref, { journal: null }, given.get(keyOf(ref))?.token ?? token)
            }
            return store.threads.commit(ref, commit, token)
          },
        },
      }
    },
  },
  {
    wrong: 'a malformed commit begins its journal all the same',
    caught: ['a refused commit leaves the journal as it was'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async commit(ref, { journal, set, ...rest }, token) {
          if (journal !== undefined) await threads.commit(ref, { journal }, token)
          return threads.commit(ref, { ...rest, ...(set && { set }) }, token)
        },
      },
    }),
  },
  {
    wrong: 'the last entries come first',
    caught: ['entries come in the order they were written in'],
    ports: (store) => reading(store, (entries) => entries.toReversed()),
  },
  {
    wrong: 'entries are sorted by their text',
    caught: ['entries come in the order they were written in'],
    ports: (store) =>
      reading(store, (entries) => entries.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))),
  },
  {
    wrong: 'lone surrogates are replaced',
    caught: ['entries come back as they were'],
    ports: (store) => reading(store, (entries) => entries.map(wellFormed)),
  },
  {
    wrong: 'an entry of more than 64 kB is left out',
    caught: ['an entry of a megabyte comes back as it was'],
    ports: (store) => reading(store, (entries) => entries.filter((entry) => JSON.stringify(entry).length < 65_536)),
  },
  {
    wrong: 'the journal is the list of the caller',
    caught: ['what a caller changes in its own lists does not reach the journal'],
    ports: ({ threads, journal }) => {
      const lists = new Map<string, Json[]>()
      return {
        threads: {
          ...threads,
          commit(ref, commit, token) {
            if (commit.journal) lists.set(keyOf(ref), commit.journal.entries as Json[])
            return threads.commit(ref, commit, token)
          },
        },
        journal: {
          ...journal,
          async append(ref, runId, entries, token) {
            await journal.append(ref, runId, entries, token)
            lists.get(keyOf(ref))?.push(...entries)
          },
          async read(ref) {
            const found = await journal.read(ref)
            return found && { ...found, entries: lists.get(keyOf(ref)) ?? found.entries }
          },
        },
      }
    },
  },
  {
    wrong: 'journals are kept by run, not by thread',
    caught: ['journals of two threads are apart'],
    ports: ({ journal }) => {
      const runs = new Map<string, ThreadRef>()
      return {
        journal: {
          ...journal,
          append(ref, runId, entries, token) {
            runs.set(runId, ref)
            return journal.append(ref, runId, entries, token)
          },
          async read(ref) {
            const own = await journal.read(ref)
            return journal.read(runs.get(own?.runId ?? 'run-1') ?? ref)
          },
        },
      }
    },
  },
  {
    wrong: 'a deleted thread leaves its journal',
    caught: [
      'a deleted thread takes everything with it, also when it is opened again',
      'a late append to the journal is LEASE_LOST and makes nothing, also when the thread was opened and leased again',
    ],
    ports: ({ threads, journal }) => {
      const left = new Map<string, Awaited<ReturnType<JournalStore['read']>>>()
      return {
        threads: {
          ...threads,
          async delete(ref) {
            left.set(keyOf(ref), await journal.read(ref))
            return threads.delete(ref)
          },
        },
        journal: { ...journal, read: async (ref) => (await journal.read(ref)) ?? left.get(keyOf(ref)) },
      }
    },
  },
  {
    wrong: 'a deleted thread takes all journals with it',
    caught: ['a deleted thread leaves the others alone'],
    ports: ({ threads, journal }) => {
      let deleted = false
      return {
        threads: {
          ...threads,
          delete(ref) {
            deleted = true
            return threads.delete(ref)
          },
        },
        journal: { ...journal, read: async (ref) => (deleted ? undefined : journal.read(ref)) },
      }
    },
  },
]
