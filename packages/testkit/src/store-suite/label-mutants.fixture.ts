import type { Thread, ThreadLabel, ThreadStore } from '@troupe/kernel'
import type { StoreMutant } from './store-mutant.fixture.ts'

const THERE = 'a title and metadata are in the thread and in every list'
const STAYS = 'what a label does not name stays, and null removes it'
const HELD = 'a thread is labelled while a run holds it, and the commits of the run keep the label'
const BRANCH = 'a branch and what was cut off have the label, each its own'
const ABSENT = 'a thread that is not there cannot be labelled, and the label goes with its thread'
const RECENT = 'recent lists the threads of an owner by their last change, page by page'

type Label = NonNullable<ThreadStore['label']>

/** Stores that are wrong about titles, metadata and the last change of threads. */
export const labelMutants: readonly StoreMutant[] = [
  {
    wrong: 'a label needs the lease',
    caught: [HELD],
    ports: ({ threads, leases }) =>
      labelling(threads, async (ref, label) => {
        const { token } = await leases.acquire(ref, { runId: 'label', ttlMs: 1_000 })
        await leases.release(ref, token)
        return (threads.label as Label)(ref, label)
      }),
  },
  {
    wrong: 'a label is a commit',
    caught: [THERE],
    ports: ({ threads, leases }) =>
      labelling(threads, async (ref, label) => {
        const summary = await (threads.label as Label)(ref, label)
        if (summary.runId !== undefined) return summary
        const { token } = await leases.acquire(ref, { runId: 'label', ttlMs: 1_000 })
        await threads.commit(ref, {}, token)
        await leases.release(ref, token)
        return summary
      }),
  },
  {
    wrong: 'a label replaces what it does not name',
    caught: [STAYS],
    ports: ({ threads }) =>
      labelling(threads, (ref, { title = null, metadata = null }) =>
        (threads.label as Label)(ref, { title, metadata }),
      ),
  },
  {
    wrong: 'metadata is merged',
    caught: [STAYS],
    ports: ({ threads }) =>
      labelling(threads, async (ref, { metadata, ...label }) => {
        const before = (await threads.get(ref))?.metadata
        const merged: ThreadLabel = metadata
          ? { metadata: { ...before, ...metadata } }
          : metadata === null
            ? { metadata }
            : {}
        return (threads.label as Label)(ref, { ...label, ...merged })
      }),
  },
  {
    wrong: 'a commit writes the label that it has read before',
    caught: [HELD],
    ports: ({ threads }) => {
      let held: Thread | undefined
      return {
        threads: {
          ...threads,
          async commit(ref, commit, token) {
            const { title = null, metadata = null } = held ?? {}
            await threads.label?.(ref, { title, metadata })
            held = await threads.commit(ref, commit, token)
            return held
          },
        },
      }
    },
  },
  {
    wrong: 'a branch has no label',
    caught: [BRANCH],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async fork(ref, request) {
          await threads.fork(ref, request)
          await threads.label?.({ ...ref, threadId: request.to }, { title: null, metadata: null })
          return (await threads.get({ ...ref, threadId: request.to })) as Thread
        },
      },
    }),
  },
  {
    wrong: 'a label opens its thread',
    caught: [ABSENT],
    ports: ({ threads }) =>
      labelling(threads, async (ref, label) => {
        await threads.open(ref)
        return (threads.label as Label)(ref, label)
      }),
  },
  {
    wrong: 'recent lists by the opening of the threads',
    caught: [RECENT],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        recent: (owner, { limit = 100, after } = {}) =>
          threads.list(owner, { newestFirst: true, limit, ...(after && { after: after.seq }) }),
      },
    }),
  },
  {
    wrong: 'the cursor of recent is a time alone',
    caught: [RECENT],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async recent(owner, { limit = 100, after } = {}) {
          const all = (await threads.recent?.(owner, { limit: 1_000 })) ?? []
          return all.filter(({ updatedAt }) => !after || updatedAt < after.updatedAt).slice(0, limit)
        },
      },
    }),
  },
]

function labelling(threads: ThreadStore, label: Label) {
  return { threads: { ...threads, label } }
}
