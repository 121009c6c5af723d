import type { Owner, Page, Store, ThreadRef } from '@troupe/kernel'
import { gap, keyOf, remembering, type StoreMutant } from './store-mutant.fixture.ts'

/** Stores that are wrong about threads. */
export const threadMutants: readonly StoreMutant[] = [
  {
    wrong: 'open looks and creates in two steps',
    caught: ['twenty opens at once make one thread'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async open(ref) {
          const thread = await threads.get(ref)
          if (thread) return thread
          await gap()
          await threads.delete(ref)
          return threads.open(ref)
        },
      },
    }),
  },
  {
    wrong: 'open leaves gaps in the sequence',
    caught: ['open makes a thread with version 0, empty state and no open calls', 'each owner counts threads from 1'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async open(ref) {
          if (!(await threads.get(ref))) {
            await threads.open({ ...ref, threadId: 'gap' })
            await threads.delete({ ...ref, threadId: 'gap' })
          }
          return threads.open(ref)
        },
      },
    }),
  },
  {
    wrong: 'commit does not look at the token',
    caught: [
      'a commit with a stale token is LEASE_LOST and changes nothing',
      'a late commit is LEASE_LOST, also when the thread was opened and leased again',
    ],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases,
        threads: {
          ...store.threads,
          commit: (ref, commit, token) => store.threads.commit(ref, commit, given.get(keyOf(ref))?.token ?? token),
        },
      }
    },
  },
  {
    wrong: 'commit fails once the lease has expired, though nobody took it',
    caught: ['an expired lease that nobody took may still commit'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases,
        threads: {
          ...store.threads,
          commit(ref, commit, token) {
            const expired = (given.get(keyOf(ref))?.expiresAt ?? 0) <= clock.now()
            return store.threads.commit(ref, commit, expired ? -1 : token)
          },
        },
      }
    },
  },
  {
    wrong: 'commit is two transactions',
    caught: [
      'a commit raises the version by one and tells the time',
      'a message without an id or a run is VALIDATION_FAILED and changes nothing',
    ],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async commit(ref, { messages = [], ...rest }, token) {
          await threads.commit(ref, rest, token)
          return threads.commit(ref, { messages }, token)
        },
      },
    }),
  },
  {
    wrong: 'commit writes back the state it read, so updates get lost',
    caught: ['commits at once all arrive, one version and one sequence each'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async commit(ref, commit, token) {
          const known = Object.keys({ ...(await threads.get(ref))?.state, ...commit.set })
          await gap()
          const lost = Object.keys((await threads.get(ref))?.state ?? {}).filter((key) => !known.includes(key))
          return threads.commit(ref, { ...commit, removed: [...(commit.removed ?? []), ...lost] }, token)
        },
      },
    }),
  },
  {
    wrong: 'commit replaces the state',
    caught: ['a commit sets keys and leaves the others'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async commit(ref, commit, token) {
          const { set = {} } = commit
          const old = Object.keys((await threads.get(ref))?.state ?? {}).filter((key) => !(key in set))
          return threads.commit(ref, { ...commit, removed: [...(commit.removed ?? []), ...old] }, token)
        },
      },
    }),
  },
  {
    wrong: 'commit drops prototype keys instead of refusing them',
    caught: ['state keys that lead to a prototype are VALIDATION_FAILED and change nothing'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        commit(ref, { set = {}, removed = [], ...rest }, token) {
          const fine = (key: string) => !['__proto__', 'constructor', 'prototype'].includes(key)
          const kept = Object.fromEntries(Object.entries(set).filter(([key]) => fine(key)))
          return threads.commit(ref, { ...rest, set: kept, removed: removed.filter(fine) }, token)
        },
      },
    }),
  },
  {
    wrong: 'commit adds a message again',
    caught: ['a message that is in the thread is not added again, nor changed'],
    ports: ({ threads }) => {
      let n = 0
      return {
        threads: {
          ...threads,
          commit: (ref, commit, token) =>
            threads.commit(
              ref,
              {
                ...commit,
                messages: (commit.messages ?? []).map(({ runId, message }) => ({
                  runId,
                  message: message.id && { ...message, id: `${message.id}#${n++}` },
                })) as never,
              },
              token,
            ),
          messages: async (ref, page) =>
            (await threads.messages(ref, page)).map(({ message, ...row }) => ({
              ...row,
              message: { ...message, id: message.id.replace(/#\d+$/, '') },
            })),
        },
      }
    },
  },
  {
    wrong: 'processed answers what it has, not what was asked',
    caught: ['processed ids add up and are answered in the order asked, once each'],
    ports: ({ threads }) => ({
      threads: { ...threads, processed: async (ref, ids) => threads.processed(ref, [...ids].sort()) },
    }),
  },
  {
    wrong: 'pages do not go backwards',
    caught: [
      'newestFirst goes backwards, from before its cursor',
      'threads are listed in order of opening, in pages, newest first if asked',
      'runs come in pages, newest first if asked',
    ],
    ports: (store) => withPages(store, (page) => page && { ...page, newestFirst: false }),
  },
  {
    wrong: 'pages show their cursor again',
    caught: ['messages come in pages of 100, a page begins after its cursor'],
    ports: (store) => withPages(store, (page) => page?.after && { ...page, after: page.after - 1 }),
  },
  {
    wrong: 'pages have no default limit',
    caught: ['messages come in pages of 100, a page begins after its cursor'],
    ports: (store) => withPages(store, (page) => ({ limit: 1000, ...page })),
  },
  {
    wrong: 'idle does not look at leases',
    caught: ['idle leaves out a thread that is held, until its lease expires'],
    ports: ({ threads }) => {
      const refs = new Map<string, ThreadRef>()
      return {
        threads: {
          ...threads,
          open(ref) {
            refs.set(keyOf(ref), ref)
            return threads.open(ref)
          },
          async idle({ before, limit }) {
            const all = await Promise.all([...refs.values()].map((ref) => threads.get(ref)))
            const old = all.flatMap((thread) => (thread && thread.updatedAt < before ? thread : []))
            return old.sort((a, b) => a.updatedAt - b.updatedAt).slice(0, limit)
          },
        },
      }
    },
  },
  {
    wrong: 'a thread shows its last run for ever',
    caught: ['a thread tells the run that holds its lease, until release or expiry'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      return {
        leases,
        threads: {
          ...store.threads,
          async get(ref) {
            const thread = await store.threads.get(ref)
            const runId = given.get(keyOf(ref))?.runId
            return thread && runId !== undefined ? { ...thread, runId } : thread
          },
        },
      }
    },
  },
  {
    wrong: 'delete only hides',
    caught: ['a deleted thread takes everything with it, also when it is opened again'],
    ports: ({ threads }) => {
      const hidden = new Set<string>()
      const seen = async <T>(ref: ThreadRef, read: Promise<T>) => (hidden.has(keyOf(ref)) ? undefined : read)
      return {
        threads: {
          ...threads,
          get: (ref) => seen(ref, threads.get(ref)),
          open(ref) {
            hidden.delete(keyOf(ref))
            return threads.open(ref)
          },
          async delete(ref) {
            if (hidden.has(keyOf(ref)) || !(await threads.get(ref))) return false
            hidden.add(keyOf(ref))
            return true
          },
        },
      }
    },
  },
  {
    wrong: 'users of one app share everything',
    caught: ['a foreign thread reads as absent in every port', 'a foreign delete is false and deletes nothing'],
    ports: (store) => withOwners(store, ({ app }) => ({ app, user: 'everybody' })),
  },
  {
    wrong: 'owners are distinguished by their joined names',
    caught: ['owners that only look alike are different'],
    ports: (store) => withOwners(store, ({ app, user }) => ({ app: `${app}/${user}`, user: 'user' })),
  },
  {
    wrong: 'names of users are compared without case',
    caught: ['owners that only look alike are different'],
    ports: (store) => withOwners(store, ({ app, user }) => ({ app, user: user.toLowerCase() })),
  },
]

function withPages({ threads, records }: Store, change: (page?: Page) => Page | undefined | 0): Partial<Store> {
  const turn = (page?: Page) => change(page) || page
  return {
    threads: {
      ...threads,
      messages: (ref, page) => threads.messages(ref, turn(page)),
      list: (owner, page) => threads.list(owner, turn(page)),
    },
    records: { ...records, runs: (ref, page) => records.runs(ref, turn(page)) },
  }
}

/** A store that takes one owner for another; threads come back under the name they were asked for. */
function withOwners(store: Store, change: (owner: Owner) => Owner): Partial<Store> {
  const turned = <Port extends object>(port: Port): Port => {
    const methods = Object.entries(port).map(([name, method]) => [
      name,
      (first: Partial<ThreadRef>, ...rest: unknown[]) => {
        const { app, user } = first
        const result: unknown = method(app && user ? { ...first, ...change({ app, user }) } : first, ...rest)
        if (!(result instanceof Promise)) return result
        return result.then((value) => (value?.ref ? { ...value, ref: first } : value))
      },
    ])
    return Object.fromEntries(methods)
  }
  const { threads, records, runLog, journal, leases } = store
  return {
    threads: turned(threads),
    records: turned(records),
    runLog: turned(runLog),
    journal: turned(journal),
    leases: turned(leases),
  }
}
