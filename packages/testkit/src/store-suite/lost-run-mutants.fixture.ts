import type { JournalStore, Store, ThreadRef } from '@troupe/kernel'
import { keyOf, type StoreMutant } from './store-mutant.fixture.ts'

/** A store that finds other lost runs. */
function losing({ journal }: Store, lost: JournalStore['lost']): Partial<Store> {
  return { journal: { ...journal, lost } }
}

/** Stores that are wrong about lost runs. */
export const lostRunMutants: readonly StoreMutant[] = [
  {
    wrong: 'lost runs come newest first',
    caught: ['lost finds runs of all owners whose journal was not written since, oldest first, at most limit'],
    ports: (store) =>
      losing(store, async ({ before, limit }) =>
        (await store.journal.lost({ before, limit: limit && 1000 })).toReversed().slice(0, limit),
      ),
  },
  {
    wrong: 'a run that was written at the time asked for is lost',
    caught: ['lost finds runs of all owners whose journal was not written since, oldest first, at most limit'],
    ports: (store) => losing(store, ({ before, limit }) => store.journal.lost({ before: before + 1, limit })),
  },
  {
    wrong: 'lost counts from the beginning of a journal',
    caught: ['lost finds runs of all owners whose journal was not written since, oldest first, at most limit'],
    ports: (store, clock) => {
      const begun = new Map<string, number>()
      const commit: Store['threads']['commit'] = (ref, commit, token) => {
        if (commit.journal) begun.set(commit.journal.runId, clock.now())
        return store.threads.commit(ref, commit, token)
      }
      const lost: JournalStore['lost'] = async (query) => {
        const runs = await store.journal.lost(query)
        return runs.map((run) => ({ ...run, at: begun.get(run.runId) ?? run.at })).toSorted((a, b) => a.at - b.at)
      }
      return { threads: { ...store.threads, commit }, ...losing(store, lost) }
    },
  },
  {
    wrong: 'lost does not look at leases',
    caught: ['lost leaves out a run whose thread is held, by whichever run, until the lease ends'],
    ports: (store) => {
      const refs = new Map<string, ThreadRef>()
      return {
        threads: {
          ...store.threads,
          open(ref) {
            refs.set(keyOf(ref), ref)
            return store.threads.open(ref)
          },
        },
        ...losing(store, async () => {
          const threads = await Promise.all([...refs.values()].map((ref) => store.threads.get(ref)))
          return threads.flatMap((thread) =>
            thread?.unfinished ? { ref: thread.ref, runId: thread.unfinished, at: 0 } : [],
          )
        }),
      }
    },
  },
  {
    wrong: 'only the lease of the lost run itself counts',
    caught: ['lost leaves out a run whose thread is held, by whichever run, until the lease ends'],
    ports: (store) => {
      let last: Awaited<ReturnType<JournalStore['lost']>> = []
      return losing(store, async (query) => {
        const found = await store.journal.lost(query)
        const held = await Promise.all(last.map(({ ref }) => store.threads.get(ref)))
        const others = last.filter((run, i) => held[i]?.runId !== undefined && held[i]?.runId !== run.runId)
        last = [...found, ...others]
        return last
      })
    },
  },
  {
    wrong: 'a run that ended stays lost',
    caught: ['lost does not find a run whose journal was removed'],
    ports: (store) => {
      const ended = { runId: 'run-1', entries: [] }
      const commit: Store['threads']['commit'] = (ref, commit, token) =>
        store.threads.commit(ref, commit.journal === null ? { ...commit, journal: ended } : commit, token)
      return { threads: { ...store.threads, commit } }
    },
  },
  {
    wrong: 'lost takes any query',
    caught: [
      'a maintenance query without a sound limit or time is VALIDATION_FAILED',
      'a malformed page, query, append, follow or lease is VALIDATION_FAILED and changes nothing',
    ],
    ports: (store) => losing(store, async (query) => store.journal.lost(query).catch(() => [])),
  },
]
