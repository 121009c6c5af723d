import type { Clock, Json, Store, Thread, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { sharedMemory } from './shared-memory.fixture.ts'
import { gap, keyOf } from './store-mutant.fixture.ts'
import type { OpenedStore } from './test-store.ts'

/** A store that is wrong about its data when it is opened again, or beside another. */
export interface InstanceMutant {
  readonly wrong: string
  readonly caught: readonly string[]
  readonly open: (clock: Clock) => OpenedStore
}

const reopened = 'closed and opened again, '

/** Data that are sound, opened by stores of which each is broken in its own way. */
function many(change: (store: Store) => Partial<Store>): InstanceMutant['open'] {
  return (clock) => {
    const sound = sharedMemory(clock)
    const open = () => {
      const store = sound()
      return { ...store, ...change(store) }
    }
    return { store: open(), keeps: 'for-many-instances', reopen: open }
  }
}

/** Stores that are wrong about more than one of them. */
export const instanceMutants: readonly InstanceMutant[] = [
  {
    wrong: 'it keeps nothing, and says that it does',
    caught: [
      `${reopened}it has everything it had`,
      `${reopened}it goes on counting where it was`,
      `${reopened}a lease is held, known by its token, and runs out when it would have`,
      `${reopened}what was deleted, finished or released is still so`,
      `${reopened}a run that did not end is lost, and goes on under a new lease`,
      `${reopened}a log is followed to its end`,
    ],
    open: (clock) => ({
      store: memoryStore({ clock }),
      keeps: 'for-one-instance',
      reopen: () => memoryStore({ clock }),
    }),
  },
  {
    wrong: 'two may open what is for one',
    caught: ['while it is open, a second instance is refused and changes nothing'],
    open: (clock) => {
      const open = sharedMemory(clock)
      return { store: open(), keeps: 'for-one-instance', reopen: open }
    },
  },
  {
    wrong: 'it forgets open calls when it is opened again',
    caught: [`${reopened}it has everything it had`],
    open: (clock) => {
      const open = sharedMemory(clock)
      const again = () => {
        const store = open()
        const get = async (ref: Parameters<Store['threads']['get']>[0]) => {
          const thread = await store.threads.get(ref)
          return thread && { ...thread, openCalls: [] }
        }
        return { ...store, threads: { ...store.threads, get } }
      }
      return { store: open(), keeps: 'for-many-instances', reopen: again }
    },
  },
  {
    wrong: 'large texts are kept in the instance',
    caught: [`${reopened}it has everything it had`],
    open: many(() => {
      const texts = new Map<string, string>()
      return {
        blobs: {
          async put(ref, id, text) {
            texts.set(JSON.stringify([keyOf(ref), id]), text)
          },
          get: async (ref, id) => texts.get(JSON.stringify([keyOf(ref), id])),
        },
      }
    }),
  },
  {
    wrong: 'leases are kept in the instance',
    caught: [
      `${reopened}a lease is held, known by its token, and runs out when it would have`,
      'two instances: a lease of one keeps the other out until it is released or expires',
      'two instances: of twenty that want a free thread, half on each, one gets it',
      'two instances: one that took over fences the other off',
      'two instances: a cancel asked of one reaches the holder at the other',
    ],
    open: (clock) => {
      const sound = sharedMemory(clock)
      const open = () => ({ ...sound(), leases: memoryStore({ clock }).leases })
      return { store: open(), keeps: 'for-many-instances', reopen: open }
    },
  },
  {
    wrong: 'an instance remembers the journals it has read',
    caught: ['two instances: a run that one lost goes on at the other, with every step'],
    open: many(({ journal }) => {
      const seen = new Map<string, Awaited<ReturnType<typeof journal.read>>>()
      return {
        journal: {
          ...journal,
          async append(ref, runId, entries, token) {
            await journal.append(ref, runId, entries, token)
            seen.set(keyOf(ref), await journal.read(ref))
          },
          read: async (ref) => seen.get(keyOf(ref)) ?? (await journal.read(ref)),
        },
      }
    }),
  },
  {
    wrong: 'an append to a journal looks at the lease before it waits for its turn',
    caught: ['two instances: no append to a journal gets in after a take-over, however both race'],
    open: (clock) => {
      const sound = sharedMemory(clock)
      const tokens = new Map<string, number>()
      const open = () => {
        const { leases, journal, ...store } = sound()
        return {
          ...store,
          leases: {
            ...leases,
            async acquire(ref: ThreadRef, holder: { readonly runId: string; readonly ttlMs: number }) {
              const lease = await leases.acquire(ref, holder)
              tokens.set(keyOf(ref), lease.token)
              return lease
            },
          },
          journal: {
            ...journal,
            async append(ref: ThreadRef, runId: string, entries: readonly Json[], token: number) {
              const held = tokens.get(keyOf(ref)) === token
              await gap()
              return journal.append(ref, runId, entries, held ? (tokens.get(keyOf(ref)) ?? token) : token)
            },
          },
        }
      }
      return { store: open(), keeps: 'for-many-instances', reopen: open }
    },
  },
  {
    wrong: 'an instance remembers the threads it has seen',
    caught: [
      'two instances: what one commits the other reads',
      'two instances: what one deletes is gone for the other',
    ],
    open: many(({ threads }) => {
      const seen = new Map<string, Thread>()
      const remember = (thread: Thread) => {
        seen.set(keyOf(thread.ref), thread)
        return thread
      }
      return {
        threads: {
          ...threads,
          open: async (ref) => remember(await threads.open(ref)),
          get: async (ref) => seen.get(keyOf(ref)) ?? (await threads.get(ref)),
          commit: async (ref, commit, token) => remember(await threads.commit(ref, commit, token)),
        },
      }
    }),
  },
  {
    wrong: 'an instance looks at the run before it finishes it, in two steps, from what it remembers',
    caught: ['two instances: what one records the other reads, and the first finish wins for both'],
    open: many(({ records }) => {
      const own = new Set<string>()
      return {
        records: {
          ...records,
          async apply(ref, commands) {
            const results = await records.apply(ref, commands)
            return results.map((result, i) => {
              if (commands[i]?.type !== 'run-finish' || own.has(result.runId)) return result
              own.add(result.runId)
              return { runId: result.runId }
            })
          },
        },
      }
    }),
  },
  {
    wrong: 'each instance counts runs itself',
    caught: ['two instances: sequences stay unique and without gaps when both write at once'],
    open: many(({ records }) => {
      let runs: number | undefined
      return {
        records: {
          ...records,
          async apply(ref, commands) {
            runs ??= (await records.runs(ref)).length
            await gap()
            const results = await records.apply(ref, commands)
            return results.map((result) => ('seq' in result ? { ...result, seq: ++(runs as number) } : result))
          },
        },
      }
    }),
  },
  {
    wrong: 'a follower hears only what its own instance wrote',
    caught: [
      'two instances: a follower at one gets what the other appends, each once, and ends with the log',
      'two instances: a follower at one goes on in a log that the other compacts',
      'two instances: a follower at one ends when the other deletes the thread',
    ],
    open: many(({ runLog }) => {
      let written = 0
      return {
        runLog: {
          ...runLog,
          append(ref, runId, after, events, close) {
            written += events.length
            return runLog.append(ref, runId, after, events, close)
          },
          async *follow(ref, runId, options) {
            let shown = 0
            for await (const batch of runLog.follow(ref, runId, options)) {
              shown += batch.length
              if (shown > written) await new Promise(() => undefined)
              yield batch
            }
            await new Promise(() => undefined)
          },
        },
      }
    }),
  },
  {
    wrong: 'closing one closes the data',
    caught: ['two instances: closing one leaves the other as it was'],
    open: (clock) => {
      const sound = sharedMemory(clock)
      let closed = false
      const open = (): Store => {
        const store = sound()
        return {
          ...store,
          get threads() {
            if (closed) throw new Error('closed')
            return store.threads
          },
          async [Symbol.asyncDispose]() {
            closed = true
          },
        }
      }
      return { store: open(), keeps: 'for-many-instances', reopen: open }
    },
  },
]
