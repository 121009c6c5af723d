import type { ThreadStore } from '@troupe/kernel'
import type { StoreMutant } from './store-mutant.fixture.ts'

type Cut = ThreadStore['cut']

/** A store that cuts threads in another way. */
function cutting(change: (threads: ThreadStore) => Cut): StoreMutant['ports'] {
  return ({ threads }) => ({ threads: { ...threads, cut: change(threads) } })
}

const last = async (threads: ThreadStore, ref: Parameters<Cut>[0]) =>
  (await threads.messages(ref, { newestFirst: true, limit: 1 }))[0]?.message.id ?? ''

/** Stores that are wrong about threads that are cut. */
export const cutMutants: readonly StoreMutant[] = [
  {
    wrong: 'a cut thread keeps all of its messages',
    caught: [
      'a cut thread has the messages up to the cut, and all of them under the other name',
      'a cut thread has the state and the processed ids as they were at the cut',
    ],
    ports: cutting(
      (threads) =>
        async (ref, { to }, token) =>
          threads.cut(ref, { at: await last(threads, ref), to }, token),
    ),
  },
  {
    wrong: 'what is cut off is gone',
    caught: ['a cut thread has the messages up to the cut, and all of them under the other name'],
    ports: cutting((threads) => async (ref, request, token) => {
      const thread = await threads.cut(ref, request, token)
      await threads.delete({ ...ref, threadId: request.to })
      return thread
    }),
  },
  {
    wrong: 'a thread is cut without its lease',
    caught: ['only the holder of the lease cuts a thread'],
    ports: ({ threads, leases }) => ({
      threads: {
        ...threads,
        async cut(ref, request, token) {
          const { token: own = token } = await leases.acquire(ref, { runId: 'any', ttlMs: 1 }).catch(() => ({ token }))
          return threads.cut(ref, request, own)
        },
      },
    }),
  },
  {
    wrong: 'a cut thread is made by a branch and a delete, and loses its lease',
    caught: ['the lease stays with the name, and everything else of the thread goes to the other one'],
    ports: cutting((threads) => async (ref, { to, ...point }, token) => {
      await threads.commit(ref, {}, token)
      const old = await threads.fork(ref, { at: await last(threads, ref), to })
      const cut = await threads.fork(old.ref, { ...point, to: `${to}-cut` })
      await threads.delete(ref)
      return threads.fork(cut.ref, { ...point, to: ref.threadId })
    }),
  },
]
