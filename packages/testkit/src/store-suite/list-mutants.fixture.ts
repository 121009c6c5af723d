import type { Store, Thread, ThreadStore, ThreadSummary } from '@troupe/kernel'
import type { StoreMutant } from './store-mutant.fixture.ts'

const CONTENT = 'lists have no state, open calls or checkpoints'
const WAITING = 'a thread waits for the results of its open calls and for answers that no run has taken'

/** Stores that are wrong about lists of threads. */
export const listMutants: readonly StoreMutant[] = [
  {
    wrong: 'a list has whole threads',
    caught: [CONTENT],
    ports: (store) => listing(store, async (summary, { get }) => (await get(summary.ref)) as Thread),
  },
  {
    wrong: 'maintenance finds whole threads',
    caught: [CONTENT],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async idle(query) {
          const found = await threads.idle(query)
          return Promise.all(found.map(async ({ ref }) => (await threads.get(ref)) as Thread))
        },
      },
    }),
  },
  {
    wrong: 'a list does not say that a thread waits',
    caught: [CONTENT, WAITING],
    ports: (store) => listing(store, async (summary) => ({ ...summary, waiting: false })),
  },
  {
    wrong: 'a thread waits until its checkpoint is removed, also if a run has taken the answers',
    caught: [WAITING],
    ports: ({ threads }) => {
      const waits = (thread: Thread) => ({ ...thread, waiting: thread.waiting || thread.checkpoint !== undefined })
      return {
        threads: { ...threads, commit: async (...args) => waits(await threads.commit(...args)) },
      }
    },
  },
]

function listing(
  { threads }: Store,
  change: (summary: ThreadSummary, threads: ThreadStore) => Promise<ThreadSummary>,
): Partial<Store> {
  const list: ThreadStore['list'] = async (owner, page) => {
    const found = await threads.list(owner, page)
    return Promise.all(found.map((summary) => change(summary, threads)))
  }
  return { threads: { ...threads, list } }
}
