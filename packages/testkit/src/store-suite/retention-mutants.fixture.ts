import type { RecordStore, ThreadStore } from '@troupe/kernel'
import type { StoreMutant } from './store-mutant.fixture.ts'

const TIES = 'idle goes on after a thread, also if others changed at the same time'
const GONE = 'idle goes on after a thread that is gone or has changed'
const PRUNES = 'prune deletes runs that ended before a time with all they have, oldest first, up to a limit'
const LEAVES = 'prune leaves runs with open calls, and those of a thread with an unfinished run'
const APPS = 'prune leaves the runs of other apps, if it is for some'

type Idle = ThreadStore['idle']
type Prune = NonNullable<RecordStore['prune']>

/** Stores that are wrong about what maintenance finds and deletes. */
export const retentionMutants: readonly StoreMutant[] = [
  {
    wrong: 'idle does not know its cursor',
    caught: [TIES],
    ports: ({ threads }) => idling(threads, ({ after: _, ...query }) => threads.idle(query)),
  },
  {
    wrong: 'the cursor of idle is a time alone',
    caught: [TIES, GONE],
    ports: ({ threads }) =>
      idling(threads, async ({ after, ...query }) => {
        const all = await threads.idle({ ...query, limit: 1_000 })
        return all.filter(({ updatedAt }) => !after || updatedAt > after.updatedAt).slice(0, query.limit)
      }),
  },
  {
    wrong: 'the cursor of idle is looked up',
    caught: [GONE],
    ports: ({ threads }) =>
      idling(threads, async (query) => {
        const thread = query.after && (await threads.get(query.after.ref))
        return query.after && thread?.updatedAt !== query.after.updatedAt ? [] : threads.idle(query)
      }),
  },
  {
    wrong: 'prune of records deletes nothing',
    caught: [PRUNES, LEAVES, APPS],
    ports: ({ records }) => pruning(records, async () => 0),
  },
  {
    wrong: 'prune of records has no limit',
    caught: [PRUNES],
    ports: ({ records }) => pruning(records, async (query) => (await records.prune?.({ ...query, limit: 1_000 })) ?? 0),
  },
  {
    wrong: 'prune of records does not know apps',
    caught: [APPS],
    ports: ({ records }) => pruning(records, async ({ apps: _, ...query }) => (await records.prune?.(query)) ?? 0),
  },
  {
    wrong: 'a call that waits does not keep its run from being pruned',
    caught: [LEAVES],
    ports: ({ records }) => ({
      records: {
        ...records,
        apply: (ref, commands) =>
          records.apply(
            ref,
            commands.map((command) =>
              command.type === 'tool-call' ? { ...command, call: { ...command.call, status: 'complete' } } : command,
            ),
          ),
      },
    }),
  },
  {
    wrong: 'an unfinished run does not keep the records of its thread from being pruned',
    caught: [LEAVES],
    ports: ({ threads }) => ({
      threads: { ...threads, commit: (ref, { journal: _, ...commit }, token) => threads.commit(ref, commit, token) },
    }),
  },
]

function idling(threads: ThreadStore, idle: Idle) {
  return { threads: { ...threads, idle } }
}

function pruning(records: RecordStore, prune: Prune) {
  return { records: { ...records, prune } }
}
