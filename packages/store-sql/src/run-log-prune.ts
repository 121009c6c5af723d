import type { RunLogStore } from '@troupe/kernel'
import { checkPrune } from '@troupe/kernel/store'
import { toColumn } from './column-text.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'

/** Deletes old run logs. */
export function runLogPrune(database: SqlDatabase): RunLogStore['prune'] {
  const { who, engine, write } = database
  const time = leaseTime(database)
  return async (query) => {
    checkPrune(who, query)
    const { before, limit, apps } = query
    if (apps?.length === 0) return 0
    const logs = await write(async (tx) => {
      const found = await tx
        .selectFrom('troupe_run_logs as l')
        .innerJoin('troupe_threads as t', 't.id', 'l.thread')
        .innerJoin('troupe_owners as o', 'o.id', 't.owner')
        .leftJoin('troupe_leases as h', (join) =>
          join
            .onRef('h.owner', '=', 't.owner')
            .onRef('h.thread_id', '=', 't.thread_id')
            .onRef('h.run_id', '=', 'l.run_id')
            .on('h.expires_at', '>', time.at(time.now())),
        )
        .where('l.at', '<', before)
        .where(({ eb, or, and, ref }) =>
          or([
            eb('l.closed', '=', 1),
            and([
              eb('h.token', 'is', null),
              or([eb('t.unfinished', 'is', null), eb('t.unfinished', '<>', ref('l.run_id'))]),
            ]),
          ]),
        )
        .$if(apps !== undefined, (found) => found.where('o.app', 'in', (apps ?? []).map(toColumn)))
        .orderBy('l.at')
        .orderBy('l.id')
        .limit(limit)
        .select('l.id')
        .execute()
      const ids = found.map(({ id }) => id)
      if (ids.length === 0) return ids
      const gone = await tx.deleteFrom('troupe_run_logs').where('id', 'in', ids).returning('id').execute()
      await engine.announce?.(
        tx,
        gone.map(({ id }) => id),
      )
      return gone.map(({ id }) => id)
    })
    engine.watch.notify(logs)
    return logs.length
  }
}
