import type { StoreMutant } from './store-mutant.fixture.ts'

/** Stores that are wrong about commits that release their lease. */
export const releaseMutants: readonly StoreMutant[] = [
  {
    wrong: 'a commit does not release',
    caught: [
      'a commit that releases its lease frees the thread at once, and its token is worth nothing any more',
      'a commit that has released its lease may be repeated and changes nothing, whoever holds the thread by then',
      'without its lease a commit that has not released it is LEASE_LOST and changes nothing',
    ],
    ports: ({ threads }) => ({
      threads: { ...threads, commit: (ref, { release: _, ...commit }, token) => threads.commit(ref, commit, token) },
    }),
  },
  {
    wrong: 'a commit releases before it is checked',
    caught: ['a commit that is refused releases nothing'],
    ports: ({ threads, leases }) => ({
      threads: {
        ...threads,
        async commit(ref, commit, token) {
          try {
            return await threads.commit(ref, commit, token)
          } catch (error) {
            if (commit?.release) await leases.release(ref, token)
            throw error
          }
        },
      },
    }),
  },
  {
    wrong: 'a commit that released cannot be repeated',
    caught: [
      'a commit that has released its lease may be repeated and changes nothing, whoever holds the thread by then',
    ],
    ports: ({ threads, leases }) => ({
      threads: {
        ...threads,
        async commit(ref, { release, ...commit }, token) {
          const thread = await threads.commit(ref, commit, token)
          if (!release) return thread
          await leases.release(ref, token)
          const { runId: _, ...free } = thread
          return free
        },
      },
    }),
  },
  {
    wrong: 'a commit without its lease succeeds if the thread knows its messages by their ids',
    caught: ['without its lease a commit that has not released it is LEASE_LOST and changes nothing'],
    ports: ({ threads }) => ({
      threads: {
        ...threads,
        async commit(ref, commit, token) {
          try {
            return await threads.commit(ref, commit, token)
          } catch (error) {
            const known = (await threads.messages(ref)).map(({ message }) => message.id)
            const thread = await threads.get(ref)
            if (thread && commit?.release && commit.messages?.every(({ message }) => known.includes(message.id))) {
              return thread
            }
            throw error
          }
        },
      },
    }),
  },
]
