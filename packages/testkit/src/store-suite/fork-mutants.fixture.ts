import {
  type CommittedMessage,
  type ForkPoint,
  KernelError,
  type Store,
  type Thread,
  type ThreadRef,
  type ThreadStore,
} from '@troupe/kernel'
import { keyOf, remembering, type StoreMutant } from './store-mutant.fixture.ts'

type Threads = Partial<ThreadStore>
type Fork = ForkPoint & { readonly to: string }
type Messages = Awaited<ReturnType<ThreadStore['messages']>>

/** A branch that was made, with the sequence of the last message that it shares. */
interface Made {
  readonly source: ThreadRef
  readonly cut: number
}

/** The branches that a store has made. */
class Branches {
  readonly #threads: ThreadStore
  readonly #made = new Map<string, Made>()

  constructor({ threads }: Store) {
    this.#threads = threads
  }

  readonly fork: ThreadStore['fork'] = async (ref, request) => {
    const branch = await this.#threads.fork(ref, request)
    const shared = await this.#threads.messages(branch.ref, { limit: 1000 })
    this.#made.set(keyOf(branch.ref), { source: ref, cut: shared.length })
    return branch
  }

  of(ref: ThreadRef): Made | undefined {
    return this.#made.get(keyOf(ref))
  }

  get all(): readonly Made[] {
    return [...this.#made.values()]
  }
}

/** A store whose threads are wrong in some methods. */
function wrong(change: (threads: ThreadStore, branches: Branches) => Threads): StoreMutant['ports'] {
  return (store) => {
    const branches = new Branches(store)
    return { threads: { ...store.threads, fork: branches.fork, ...change(store.threads, branches) } }
  }
}

/** A store that makes another branch than it is asked for. */
function forking(change: (request: Fork, messages: Messages, ref: ThreadRef) => Fork): StoreMutant['ports'] {
  return wrong((threads) => ({
    fork: async (ref, request) => threads.fork(ref, change(request, await threads.messages(ref, { limit: 1000 }), ref)),
  }))
}

/** A store whose messages of a branch are read otherwise. */
function readingBranch(change: (messages: Messages, made: Made) => Messages | Promise<Messages>): StoreMutant['ports'] {
  return wrong((threads, branches) => ({
    async messages(ref, page) {
      const messages = await threads.messages(ref, page)
      const made = branches.of(ref)
      return made ? change(messages, made) : messages
    },
  }))
}

/** A store that shows another branch than it has made. */
function showing(change: (branch: Thread, source: Thread) => Thread): StoreMutant['ports'] {
  return wrong((threads, branches) => ({
    async fork(ref, request) {
      const source = await threads.get(ref)
      const branch = await branches.fork(ref, request)
      return source ? change(branch, source) : branch
    },
  }))
}

/** A store whose commits have other messages. */
function committing(
  change: (message: CommittedMessage, known: ReadonlySet<string>) => CommittedMessage,
): StoreMutant['ports'] {
  return wrong((threads) => ({
    async commit(ref, commit, token) {
      const known = new Set((await threads.messages(ref, { limit: 1000 })).map(({ message }) => message.id))
      const messages = commit.messages?.map?.((message) => change(message, known))
      return threads.commit(ref, messages ? { ...commit, messages } : commit, token)
    },
  }))
}

/** Stores that are wrong about branches. */
export const forkMutants: readonly StoreMutant[] = [
  {
    wrong: 'a branch has all messages of its source',
    caught: ['a branch at a message has the messages up to it, with the same ids, runs and sequences'],
    ports: forking(({ to, ...point }, messages) => ({ at: messages.at(-1)?.message.id ?? point.at ?? '', to })),
  },
  {
    wrong: 'a branch before a message has that message',
    caught: ['a branch before a message has the messages before it'],
    ports: forking(({ at, before, to }) => ({ at: at ?? before ?? '', to })),
  },
  {
    wrong: 'messages of a branch have new sequences',
    caught: ['what a branch says goes on after the cut'],
    ports: readingBranch((messages, { cut }) =>
      messages.map((message) => ({ ...message, seq: message.seq > cut ? message.seq - cut : message.seq })),
    ),
  },
  {
    wrong: 'messages of a branch count as messages of the last run',
    caught: ['a branch at a message has the messages up to it, with the same ids, runs and sequences'],
    ports: readingBranch((messages) => messages.map((message) => ({ ...message, runId: 'run-1' }))),
  },
  {
    wrong: 'a page of a branch ends at the cut',
    caught: ['pages go across every cut, in both directions'],
    ports: readingBranch((messages, { cut }) => {
      const shared = messages.filter(({ seq }) => seq <= cut)
      return messages[0] && messages[0].seq <= cut ? shared : messages
    }),
  },
  {
    wrong: 'a branch shows what its source says later',
    caught: ['source and branch go on without each other'],
    ports: (store) => {
      const branches = new Branches(store)
      const { threads } = store
      return {
        threads: {
          ...threads,
          fork: branches.fork,
          async messages(ref, page) {
            const made = branches.of(ref)
            const later = made ? (await threads.messages(made.source)).slice(made.cut) : []
            return [...(await threads.messages(ref, page)), ...later]
          },
        },
      }
    },
  },
  {
    wrong: 'a branch does not know the messages that it shares',
    caught: ['a message that a branch shares is not added to it again'],
    ports: wrong((threads, branches) => {
      const again: Messages[number][] = []
      return {
        async commit(ref, commit, token) {
          const { cut = 0 } = branches.of(ref) ?? {}
          const shared = (await threads.messages(ref, { limit: 1000 })).slice(0, cut)
          const ids = new Set(commit.messages?.map(({ message }) => message.id))
          again.push(...shared.filter(({ message }) => ids.has(message.id)))
          return threads.commit(ref, commit, token)
        },
        messages: async (ref, page) => [...(await threads.messages(ref, page)), ...(branches.of(ref) ? again : [])],
      }
    }),
  },
  {
    wrong: 'a branch takes the open calls and the questions of its source along',
    caught: ['a branch begins with its own version, lease, journal, records and logs, and without questions'],
    ports: showing((branch, { openCalls, checkpoint }) => ({
      ...branch,
      openCalls,
      ...(checkpoint && { checkpoint }),
    })),
  },
  {
    wrong: 'a branch takes the unfinished run of its source along',
    caught: ['a branch begins with its own version, lease, journal, records and logs, and without questions'],
    ports: showing((branch, { unfinished }) => ({ ...branch, ...(unfinished !== undefined && { unfinished }) })),
  },
  {
    wrong: 'a branch has the place of its source in the list',
    caught: ['twenty branches at once have a seq each'],
    ports: showing((branch, { seq }) => ({ ...branch, seq })),
  },
  {
    wrong: 'a branch waits for the run of its source',
    caught: ['a branch is made while a run holds its source, and leaves it as it is'],
    ports: wrong((threads, branches) => ({
      async fork(ref, request) {
        if ((await threads.get(ref))?.runId) throw new KernelError('THREAD_BUSY', 'store: a run holds the thread')
        return branches.fork(ref, request)
      },
    })),
  },
  {
    wrong: 'a list does not name the source of a branch',
    caught: ['branches are listed and found like any thread, and name their source'],
    ports: wrong((threads) => ({
      list: async (owner, page) => (await threads.list(owner, page)).map(({ forkedFrom, ...thread }) => thread),
    })),
  },
  {
    wrong: 'a list leaves branches out',
    caught: ['branches are listed and found like any thread, and name their source'],
    ports: wrong((threads) => ({
      list: async (owner, page) => (await threads.list(owner, page)).filter(({ forkedFrom }) => !forkedFrom),
    })),
  },
  {
    wrong: 'a message that is not there means the last one',
    caught: ['a branch at a message that the thread does not have is NOT_FOUND'],
    ports: forking(({ at, before, to }, messages) => {
      const has = messages.some(({ message }) => message.id === (at ?? before))
      return { at: has ? (at ?? before ?? '') : (messages.at(-1)?.message.id ?? ''), to }
    }),
  },
  {
    wrong: 'anybody makes branches of a thread',
    caught: ['a branch of a thread that does not exist, is deleted or is foreign is NOT_FOUND'],
    ports: wrong((threads) => ({
      fork: async (ref, request) => threads.fork((await threads.get(ref)) ? ref : { ...ref, user: 'anna' }, request),
    })),
  },
  {
    wrong: 'a branch with the id of another thread is that thread',
    caught: [
      'a branch whose id is taken is THREAD_ID_TAKEN and changes nothing',
      'of several branches with one id that are made at once one is',
    ],
    ports: wrong((threads) => ({
      fork: async (ref, request) =>
        threads.fork(ref, request).catch(async (error) => {
          const taken =
            KernelError.is(error, 'THREAD_ID_TAKEN') && (await threads.get({ ...ref, threadId: request.to }))
          if (taken) return taken
          throw error
        }),
    })),
  },
  {
    wrong: 'a branch takes the place of the thread with its id',
    caught: ['a branch whose id is taken is THREAD_ID_TAKEN and changes nothing'],
    ports: wrong((threads) => ({
      async fork(ref, request) {
        if (request.to !== ref.threadId) await threads.delete({ ...ref, threadId: request.to })
        return threads.fork(ref, request)
      },
    })),
  },
  {
    wrong: 'a branch does not mind a run that has the lease of its id',
    caught: ['a branch whose id is taken is THREAD_ID_TAKEN and changes nothing'],
    ports: (store, clock) => {
      const { given, leases } = remembering(store, clock)
      const fork: ThreadStore['fork'] = async (ref, request) => {
        const to = { ...ref, threadId: request.to }
        await leases.release(to, given.get(keyOf(to))?.token ?? 0)
        return store.threads.fork(ref, request)
      }
      return { leases, threads: { ...store.threads, fork } }
    },
  },
  {
    wrong: 'ids of branches are unique across owners',
    caught: ['another owner may have a thread with the id of a branch'],
    ports: wrong((threads) => ({
      async fork(ref, request) {
        if (await threads.get({ ...ref, user: 'ben', threadId: request.to })) {
          throw new KernelError('THREAD_ID_TAKEN', 'store: taken')
        }
        return threads.fork(ref, request)
      },
    })),
  },
  {
    wrong: 'a branch has the state that its source has now',
    caught: [
      'the state of a branch is that after the message at the cut',
      'a branch of a branch has the state of the thread it is made of, on both sides of a cut',
    ],
    ports: showing((branch, { state }) => ({ ...branch, state })),
  },
  {
    wrong: 'changes of the state that come with a message are left out',
    caught: ['the state of a thread is that after all changes of a commit, in order'],
    ports: committing(({ changes, ...message }) => message),
  },
  {
    wrong: 'keys that a message removes stay',
    caught: ['the state of a thread is that after all changes of a commit, in order'],
    ports: committing((message) =>
      message.changes?.set ? { ...message, changes: { set: message.changes.set } } : message,
    ),
  },
  {
    wrong: 'the changes of a message that the thread has are left out',
    caught: ['the changes of a message that the thread has count, after the others'],
    ports: committing(({ changes, ...message }, known) =>
      known.has(message.message.id) || !changes ? message : { ...message, changes },
    ),
  },
  {
    wrong: 'the changes of a commit count for its first message',
    caught: ['the state of a branch is that after the message at the cut'],
    ports: wrong((threads) => ({
      commit(ref, commit, token) {
        const [first, ...others] = commit?.messages ?? []
        if (!first || !commit.set) return threads.commit(ref, commit, token)
        const { set, ...rest } = commit
        const changes = { ...first.changes, set: { ...first.changes?.set, ...set } }
        return threads.commit(ref, { ...rest, messages: [{ ...first, changes }, ...others] }, token)
      },
    })),
  },
  {
    wrong: 'a branch has only what changed with messages, not what changed between them',
    caught: [
      'a commit without messages counts for the last message',
      'a branch of a branch has the state of the thread it is made of, on both sides of a cut',
    ],
    ports: wrong((threads, branches) => {
      const between = new Map<string, Set<string>>()
      return {
        commit(ref, commit, token) {
          const keys = between.get(keyOf(ref)) ?? new Set()
          if (!commit?.messages) for (const key of Object.keys(commit?.set ?? {})) keys.add(key)
          between.set(keyOf(ref), keys)
          return threads.commit(ref, commit, token)
        },
        async fork(ref, request) {
          const branch = await branches.fork(ref, request)
          const kept = Object.entries(branch.state).filter(([key]) => !between.get(keyOf(ref))?.has(key))
          return { ...branch, state: Object.fromEntries(kept) }
        },
      }
    }),
  },
  {
    wrong: 'a branch sees what its source changes later without a message',
    caught: ['what source and branch change after the cut stays their own, also without a message'],
    ports: wrong((threads, branches) => ({
      async get(ref) {
        const thread = await threads.get(ref)
        const made = branches.of(ref)
        const source = made && (await threads.get(made.source))
        return thread && source ? { ...thread, state: { ...thread.state, ...source.state } } : thread
      },
    })),
  },
  {
    wrong: 'long keys of the state are cut',
    caught: ['keys and values of every kind come back at every message'],
    ports: showing((branch) => ({
      ...branch,
      state: Object.fromEntries(Object.entries(branch.state).map(([key, value]) => [key.slice(0, 1000), value])),
    })),
  },
  {
    wrong: 'a branch has processed only what it has processed itself',
    caught: ['a branch has processed what was processed up to the cut, and its own'],
    ports: wrong((threads, branches) => ({
      processed: async (ref, ids) => (branches.of(ref) ? [] : threads.processed(ref, ids)),
    })),
  },
  {
    wrong: 'a branch has processed all that its source has',
    caught: ['a branch has processed what was processed up to the cut, and its own'],
    ports: wrong((threads, branches) => ({
      async processed(ref, ids) {
        const all = await Promise.all([ref, branches.of(ref)?.source ?? ref].map((of) => threads.processed(of, ids)))
        return ids.filter((id) => all.some((some) => some.includes(id)))
      },
    })),
  },
  {
    wrong: 'a processed id counts for the last message of its commit, though it is that of another',
    caught: ['a branch has processed what was processed up to the cut, and its own'],
    ports: wrong((threads) => ({
      async commit(ref, commit, token) {
        const { processed, ...rest } = commit ?? {}
        if (!processed || !rest.messages) return threads.commit(ref, commit, token)
        await threads.commit(ref, rest, token)
        return threads.commit(ref, { processed }, token)
      },
    })),
  },
  {
    wrong: 'a deleted source takes the messages that its branches share',
    caught: ['a deleted source leaves its branches complete'],
    ports: wrong((threads, branches) => ({
      async messages(ref, page) {
        const messages = await threads.messages(ref, page)
        const made = branches.of(ref)
        return !made || (await threads.get(made.source)) ? messages : messages.filter(({ seq }) => seq > made.cut)
      },
    })),
  },
  {
    wrong: 'a deleted source takes the past states of its branches',
    caught: ['a deleted source leaves its branches complete'],
    ports: wrong((threads, branches) => ({
      async fork(ref, request) {
        const branch = await branches.fork(ref, request)
        const source = branches.of(ref)?.source ?? ref
        return (await threads.get(source)) ? branch : { ...branch, state: {} }
      },
    })),
  },
  {
    wrong: 'a deleted branch takes what it shares from its source and its branches',
    caught: ['a deleted branch leaves its source and its own branches complete'],
    ports: wrong((threads, branches) => {
      let cut = 0
      return {
        async delete(ref) {
          cut = branches.of(ref)?.cut ?? 0
          return threads.delete(ref)
        },
        messages: async (ref, page) => (await threads.messages(ref, page)).filter(({ seq }) => seq > cut),
      }
    }),
  },
  {
    wrong: 'a deleted thread leaves its processed ids for a branch with its id',
    caught: ['the id of a deleted thread is free for a branch, which has nothing of it'],
    ports: wrong((threads) => {
      const left = new Set<string>()
      return {
        async delete(ref) {
          for (const id of await threads.processed(ref, ['old'])) left.add(id)
          return threads.delete(ref)
        },
        processed: async (ref, ids) => {
          const found = await threads.processed(ref, ids)
          return ids.filter((id) => found.includes(id) || left.has(id))
        },
      }
    }),
  },
]
