import type { RecordStore } from '@troupe/kernel'
import { checkPrune } from '@troupe/kernel/store'
import type { Transaction } from 'kysely'
import { toColumn } from './column-text.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked } from './rows.ts'
import type { Tables } from './schema.ts'

type Pruned = Pick<Tables['troupe_runs'], 'thread' | 'seq' | 'run_id'>

/** Deletes the records of runs that ended long ago. */
export function recordPrune({ who, engine, write }: SqlDatabase): NonNullable<RecordStore['prune']> {
  return async (query) => {
    checkPrune(who, query)
    const { before, limit, apps } = query
    if (apps?.length === 0) return 0
    return write(async (tx) => {
      const found = tx
        .selectFrom('troupe_runs as r')
        .innerJoin('troupe_threads as t', 't.id', 'r.thread')
        .where('r.ended_at', '<', before)
        .where('t.unfinished', 'is', null)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('troupe_tool_calls as c')
                .select('c.seq')
                .whereRef('c.thread', '=', 'r.thread')
                .whereRef('c.run_id', '=', 'r.run_id')
                .where('c.status', 'in', ['running', 'awaiting', 'interrupted']),
            ),
          ),
        )
        .$if(apps !== undefined, (found) =>
          found.where('t.owner', 'in', ({ selectFrom }) =>
            selectFrom('troupe_owners')
              .select('id')
              .where('app', 'in', (apps ?? []).map(toColumn)),
          ),
        )
        .orderBy('r.ended_at')
        .orderBy('r.thread')
        .orderBy('r.seq')
        .limit(limit)
        .select(['r.thread', 'r.seq', 'r.run_id'])
      // A record is written under the lock of its thread.
      const runs = await locked(engine, found, 'no key update').execute()
      let count = 0
      for (const [thread, of] of Map.groupBy(runs, ({ thread }) => thread)) count += await remove(tx, thread, of)
      return count
    })
  }
}

/** Deletes runs of a thread and says how many; another process may have been faster. */
async function remove(tx: Transaction<Tables>, thread: number, runs: readonly Pruned[]): Promise<number> {
  const seqs = runs.map(({ seq }) => seq)
  const ids = runs.map(({ run_id }) => run_id)
  for (const table of ['troupe_tool_calls', 'troupe_usage'] as const) {
    await tx.deleteFrom(table).where('thread', '=', thread).where('run_id', 'in', ids).execute()
  }
  await tx.deleteFrom('troupe_run_texts').where('thread', '=', thread).where('run_seq', 'in', seqs).execute()
  const gone = tx.deleteFrom('troupe_runs').where('thread', '=', thread).where('seq', 'in', seqs)
  return (await gone.returning('seq').execute()).length
}
