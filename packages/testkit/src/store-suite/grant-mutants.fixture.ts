import type { Grant, GrantStore, Store } from '@troupe/kernel'
import { keyOf, type StoreMutant } from './store-mutant.fixture.ts'

/** A store that is wrong about grants. */
function granting(change: (store: Store) => Partial<GrantStore>): StoreMutant['ports'] {
  return (store) => ({ grants: { ...store.grants, ...change(store) } })
}

/** Grants that hang on the names of threads, without regard to the threads. */
function byName({ grants }: Store): GrantStore {
  const names = new Map<string, string>()
  const named = (grant: Grant): Grant => {
    const threadId = names.get(grant.tool)
    return threadId === undefined ? grant : { ...grant, tool: grant.tool.slice(threadId.length), threadId }
  }
  return {
    ...grants,
    async add(owner, { threadId, ...grant }) {
      const tool = threadId === undefined ? grant.tool : threadId + grant.tool
      if (threadId !== undefined) names.set(tool, threadId)
      await grants.add(owner, { ...grant, tool })
    },
    async list(owner, { threadId } = {}) {
      const all = (await grants.list(owner)).map(named)
      return threadId === undefined ? all : all.filter((grant) => (grant.threadId ?? threadId) === threadId)
    },
  }
}

/** Stores that are wrong about grants. */
export const grantMutants: readonly StoreMutant[] = [
  {
    wrong: 'a grant for one thread holds in all',
    caught: [
      'those that hold in a thread are its own and those of all threads',
      'a branch does not have the grants of its source',
      'a cut thread does not have them either: they are with what it was',
    ],
    ports: granting(({ grants }) => ({ list: (owner) => grants.list(owner) })),
  },
  {
    wrong: 'grants hang on the name of a thread',
    caught: [
      'a grant for a thread that is not there is NOT_FOUND, also when it was deleted',
      'a deleted thread takes its grants with it, and no others',
      'a cut thread does not have them either: they are with what it was',
    ],
    ports: granting(byName),
  },
  {
    wrong: 'a branch inherits the grants of its source',
    caught: ['a branch does not have the grants of its source'],
    ports: ({ threads, grants }) => ({
      threads: {
        ...threads,
        async fork(ref, request) {
          const branch = await threads.fork(ref, request)
          for (const { id: _, ...grant } of await grants.list(ref, ref)) {
            if (grant.threadId !== undefined) await grants.add(ref, { ...grant, threadId: request.to })
          }
          return branch
        },
      },
    }),
  },
  {
    wrong: 'a grant does not know its rule',
    caught: [
      'grants are listed as they were given, oldest first, each with an id',
      'a grant that is there already is not added again, and keeps its id',
    ],
    ports: granting(({ grants }) => ({ add: (owner, { rule: _, ...grant }) => grants.add(owner, grant) })),
  },
  {
    wrong: 'the same grant is kept twice',
    caught: [
      'a grant that is there already is not added again, and keeps its id',
      'of the same grant that comes several times at once one is kept',
    ],
    ports: granting(({ grants }) => {
      const counts = new Map<string, number>()
      const mark = '\u0002'
      return {
        async add(owner, grant) {
          const n = (counts.get(keyOf(owner)) ?? 0) + 1
          counts.set(keyOf(owner), n)
          await grants.add(owner, { ...grant, agent: `${grant.agent}${mark}${n}` })
        },
        list: async (owner, where) =>
          (await grants.list(owner, where)).map((grant) => ({ ...grant, agent: grant.agent.split(mark)[0] ?? '' })),
      }
    }),
  },
  {
    wrong: 'a given grant replaces the one that is there',
    caught: ['a grant that is there already is not added again, and keeps its id'],
    ports: granting(({ grants }) => ({
      async add(owner, grant) {
        for (const { id, ...one } of await grants.list(owner)) {
          const isSame = [one.agent === grant.agent, one.tool === grant.tool, one.rule === grant.rule]
          if (isSame.every(Boolean) && one.threadId === grant.threadId) await grants.revoke(owner, id)
        }
        await grants.add(owner, grant)
      },
    })),
  },
  {
    wrong: 'a revoked grant is still there',
    caught: ['a grant is revoked once, and what is given again has another id'],
    ports: granting(({ grants }) => ({
      revoke: async (owner, id) => (await grants.list(owner)).some((grant) => grant.id === id),
    })),
  },
  {
    wrong: 'anybody revokes a grant',
    caught: ['grants of another owner are neither seen nor revoked'],
    ports: granting(({ grants }) => {
      const owners = new Set<Parameters<GrantStore['add']>[0]>()
      return {
        async add(owner, grant) {
          owners.add(owner)
          await grants.add(owner, grant)
        },
        async revoke(_, id) {
          for (const owner of owners) if (await grants.revoke(owner, id)) return true
          return false
        },
      }
    }),
  },
  {
    wrong: 'the newest grants are listed first',
    caught: [
      'grants are listed as they were given, oldest first, each with an id',
      'an owner keeps the newest thousand',
    ],
    ports: granting(({ grants }) => ({ list: async (owner, where) => (await grants.list(owner, where)).toReversed() })),
  },
  {
    wrong: 'an owner keeps the oldest thousand',
    caught: ['an owner keeps the newest thousand'],
    ports: granting(({ grants }) => ({
      async add(owner, grant) {
        if ((await grants.list(owner)).length < 1000) await grants.add(owner, grant)
      },
    })),
  },
]
