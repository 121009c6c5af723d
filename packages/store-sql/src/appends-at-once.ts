import { sql } from 'kysely'
import { compiled, type Slots, sure } from './compiled.ts'
import type { AppendAtOnce } from './engine.ts'
import { jsonTable, TARGETS, targetsText } from './json-table.ts'
import type { LogAppend } from './log-append.ts'
import type { SqlDatabase } from './open-database.ts'

const ROWS = { n: 'bigint', first_seq: 'bigint', last_seq: 'bigint', events: 'json' } as const

/**
 * Writes appends to different logs in one statement, which is one round trip.
 * Contract: gives the logs of those that could be written, by their index; a log that another transaction has locked is not among them.
 */
export function appendsAtOnce(
  { engine: { db, lostRace }, now }: SqlDatabase,
  { relax, announce }: AppendAtOnce,
): (appends: readonly LogAppend[]) => Promise<ReadonlyMap<number, number>> {
  const write = compiled((db, { appends, rows, at }: Slots<{ appends: string; rows: string; at: number }>) =>
    db
      // Each log is looked for by itself: without statistics the planner would join whole tables.
      .with(
        (cte) => cte('wanted').materialized(),
        (cte) =>
          cte
            .selectFrom(jsonTable('postgres', appends, TARGETS).as('w'))
            .select(['w.n', 'w.after', 'w.last', 'w.close'])
            .select(({ selectFrom }) =>
              selectFrom('troupe_owners as o')
                .innerJoin('troupe_threads as t', 't.owner', 'o.id')
                .innerJoin('troupe_run_logs as l', 'l.thread', 't.id')
                .whereRef('o.app', '=', 'w.app')
                .whereRef('o.user_id', '=', 'w.user_id')
                .whereRef('t.thread_id', '=', 'w.thread_id')
                .whereRef('l.run_id', '=', 'w.run_id')
                .select('l.id')
                .as('log'),
            ),
      )
      .with('found', (cte) =>
        cte
          .selectFrom('wanted as w')
          .innerJoin('troupe_run_logs as l', 'l.id', 'w.log')
          .whereRef('l.last_seq', '=', 'w.after')
          .where('l.closed', '=', 0)
          .select(['w.n', 'w.last', 'w.close', 'l.id'])
          .forUpdate('l')
          .skipLocked(),
      )
      .with('grown', (cte) =>
        cte
          .updateTable('troupe_run_logs as l')
          .from('found as f')
          .whereRef('l.id', '=', 'f.id')
          .set((eb) => ({
            last_seq: eb.ref('f.last'),
            closed: eb.ref('f.close'),
            at: sql<number>`case when ${eb.ref('f.close')} = 1 then cast(${at} as bigint) else ${eb.ref('l.at')} end`,
          })),
      )
      .with('added', (cte) =>
        cte
          .insertInto('troupe_run_events')
          .columns(['log', 'first_seq', 'last_seq', 'events'])
          .expression((eb) =>
            eb
              .selectFrom(jsonTable('postgres', rows, ROWS).as('w'))
              .innerJoin('found as f', 'f.n', 'w.n')
              .select(['f.id', 'w.first_seq', 'w.last_seq', 'w.events']),
          ),
      )
      .selectFrom('found as f')
      .select((eb) => [
        sql<string>`coalesce(cast(json_agg(json_build_array(${eb.ref('f.n')}, ${eb.ref('f.id')})) as text), '[]')`.as(
          'written',
        ),
        announce(sql<string>`string_agg(cast(${eb.ref('f.id')} as text), ',')`).as('announced'),
        relax.as('relaxed'),
      ]),
  )

  return async (appends) => {
    const rows = appends.flatMap(({ rows }, n) =>
      // The events are JSON already.
      rows.map(({ first_seq, last_seq, events }) => `[${n},${first_seq},${last_seq},${events}]`),
    )
    const values = { appends: targetsText(appends), rows: `[${rows}]`, at: now() }
    // The appends are written one by one if this one loses a race.
    const written = await write(db, values).catch((error: unknown) => {
      if (lostRace(error)) return undefined
      throw error
    })
    return new Map(written && (JSON.parse(sure(written).written) as [number, number][]))
  }
}
