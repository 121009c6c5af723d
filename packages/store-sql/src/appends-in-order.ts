import { compiled, type Slots } from './compiled.ts'
import { jsonTable, TARGETS, targetsText } from './json-table.ts'
import type { LogAppend } from './log-append.ts'
import type { SqlDatabase } from './open-database.ts'

/** Writes appends to different logs in one transaction of a database without round trips. Contract: gives the logs of those that could be written, by their index. */
export function appendsInOrder({
  now,
  relaxed,
}: SqlDatabase): (appends: readonly LogAppend[]) => Promise<ReadonlyMap<number, number>> {
  const find = compiled((db, { appends }: Slots<{ appends: string }>) =>
    db
      .selectFrom(jsonTable('sqlite', appends, TARGETS).as('w'))
      .innerJoin('troupe_owners as o', (join) => join.onRef('o.app', '=', 'w.app').onRef('o.user_id', '=', 'w.user_id'))
      .innerJoin('troupe_threads as t', (join) =>
        join.onRef('t.owner', '=', 'o.id').onRef('t.thread_id', '=', 'w.thread_id'),
      )
      .innerJoin('troupe_run_logs as l', (join) =>
        join.onRef('l.thread', '=', 't.id').onRef('l.run_id', '=', 'w.run_id'),
      )
      .whereRef('l.last_seq', '=', 'w.after')
      .where('l.closed', '=', 0)
      .select(['w.n', 'l.id']),
  )
  const add = compiled((db, { rows }: Slots<{ rows: string }>) =>
    db
      .insertInto('troupe_run_events')
      .columns(['log', 'first_seq', 'last_seq', 'events'])
      .expression((eb) =>
        eb
          .selectFrom(
            jsonTable('sqlite', rows, { log: 'bigint', first_seq: 'bigint', last_seq: 'bigint', events: 'json' }).as(
              'w',
            ),
          )
          .select(['w.log', 'w.first_seq', 'w.last_seq', 'w.events']),
      ),
  )
  const grow = compiled((db, { logs }: Slots<{ logs: string }>) =>
    db
      .updateTable('troupe_run_logs')
      .from(jsonTable('sqlite', logs, { id: 'bigint', last: 'bigint' }).as('w'))
      .set((eb) => ({ last_seq: eb.ref('w.last') }))
      .whereRef('troupe_run_logs.id', '=', 'w.id'),
  )
  const close = compiled((db, { id, at }: Slots<{ id: number; at: number }>) =>
    db.updateTable('troupe_run_logs').set({ closed: 1, at }).where('id', '=', id),
  )

  return (appends) =>
    relaxed(async (tx) => {
      const found = new Map((await find(tx, { appends: targetsText(appends) })).map(({ n, id }) => [n, id]))
      const taken = [...found].map(([n, id]) => ({ id, ...(appends[n] as LogAppend) }))
      const rows = taken.flatMap(({ id, rows }) =>
        // The events are JSON already.
        rows.map(({ first_seq, last_seq, events }) => `[${id},${first_seq},${last_seq},${events}]`),
      )
      if (rows.length > 0) {
        await add(tx, { rows: `[${rows}]` })
        await grow(tx, { logs: JSON.stringify(taken.map(({ id, last }) => [id, last])) })
      }
      for (const one of taken) if (one.close) await close(tx, { id: one.id, at: now() })
      return found
    })
}
