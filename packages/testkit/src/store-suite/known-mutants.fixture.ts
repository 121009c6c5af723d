import { KernelError, type Store } from '@troupe/kernel'
import type { StoreMutant } from './store-mutant.fixture.ts'

const KNOWN = 'known says which ids messages of the thread have'
const SHARED = 'known says what a branch shares, and not what its source has got since'
const FRESH = 'a run is fresh if no run has begun with its id, and not when it begins again'
const LEFT = 'the ids of runs with messages in a branch stay taken when their thread is deleted'

/** Stores that are wrong about what a thread has. */
export const knownMutants: readonly StoreMutant[] = [
  {
    wrong: 'no message is known',
    caught: [KNOWN, SHARED],
    ports: ({ threads }) => ({ threads: { ...threads, known: async () => [] } }),
  },
  {
    wrong: 'a message is known in every thread of the store',
    caught: [KNOWN, SHARED],
    ports: ({ threads }) => {
      const all = new Set<string>()
      return {
        threads: {
          ...threads,
          async commit(ref, commit, token) {
            const thread = await threads.commit(ref, commit, token)
            for (const { message } of commit.messages ?? []) all.add(message.id)
            return thread
          },
          known: async (_, ids) => [...new Set(ids)].filter((id) => all.has(id)),
        },
      }
    },
  },
  {
    wrong: 'only the messages of a thread itself are known, not those that it shares',
    caught: [SHARED],
    ports: ({ threads }) => {
      const own = new Map<string, Set<string>>()
      const ownOf = (threadId: string) => own.get(threadId) ?? new Set<string>()
      return {
        threads: {
          ...threads,
          async commit(ref, commit, token) {
            const thread = await threads.commit(ref, commit, token)
            own.set(
              ref.threadId,
              new Set([...ownOf(ref.threadId), ...(commit.messages ?? []).map(({ message }) => message.id)]),
            )
            return thread
          },
          known: async (ref, ids) =>
            ((await threads.known?.(ref, ids)) ?? []).filter((id) => ownOf(ref.threadId).has(id)),
        },
      }
    },
  },
  {
    wrong: 'every run is fresh',
    caught: [FRESH, LEFT],
    ports: ({ leases }) => ({
      leases: { ...leases, acquire: async (...args) => ({ ...(await leases.acquire(...args)), fresh: true }) },
    }),
  },
  {
    wrong: 'no run is fresh',
    caught: [FRESH, LEFT],
    ports: ({ leases }) => ({
      leases: {
        ...leases,
        async acquire(...args) {
          const { fresh: _, ...taken } = await leases.acquire(...args)
          return taken
        },
      },
    }),
  },
  {
    wrong: 'a deleted thread frees all its run ids',
    caught: [LEFT],
    ports: ({ threads, leases }) => {
      let deleted = false
      const acquire: Store['leases']['acquire'] = async (ref, { begins, ...holder }) => {
        try {
          return await leases.acquire(ref, { ...holder, ...(begins && { begins }) })
        } catch (error) {
          if (!deleted || !KernelError.is(error, 'RUN_ID_TAKEN')) throw error
          return { ...(await leases.acquire(ref, holder)), fresh: true }
        }
      }
      const remove: Store['threads']['delete'] = (ref) => {
        deleted = true
        return threads.delete(ref)
      }
      return { threads: { ...threads, delete: remove }, leases: { ...leases, acquire } }
    },
  },
]
