import { KernelError, type ThreadStore } from '@troupe/kernel'
import { keyOf, remembering, type StoreMutant } from './store-mutant.fixture.ts'
import { Branches, forking, type Messages, readingBranch, showing, wrong } from './wrong-branches.fixture.ts'

/** Stores that are wrong about which messages branches have, and who may make them. */
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
]
