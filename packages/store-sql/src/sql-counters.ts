import type { CounterStore } from '@troupe/kernel'
import { checkCounts, checkMaintenance } from '@troupe/kernel/store'
import { sql } from 'kysely'
import { fromColumn, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { SqlDatabase } from './open-database.ts'
import { ownerKeys, ownerOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { ownerKey, type ThreadKey } from './thread-key.ts'

type Row = Tables['troupe_counters']

/** Counters in SQL. */
export function sqlCounters({ who, now, query, statement }: SqlDatabase): CounterStore {
  const ownerId = ownerKeys()
  const find = compiled(
    (db, { names, at, ...key }: Slots<Omit<ThreadKey, 'threadId'> & { names: readonly string[]; at: number }>) =>
      ownerOf(db, key)
        .innerJoin('troupe_counters as c', 'c.owner', 'o.id')
        .select(['c.name', 'c.value'])
        .where('c.name', 'in', names)
        .where('c.expires_at', '>', at),
  )
  const add = (db: Queries, rows: readonly Row[], at: number) =>
    db
      .insertInto('troupe_counters')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['owner', 'name']).doUpdateSet(({ ref }) => ({
          value: sql<number>`case when ${ref('troupe_counters.expires_at')} > ${at} then ${ref('troupe_counters.value')} else 0 end + ${ref('excluded.value')}`,
          expires_at: ref('excluded.expires_at'),
        })),
      )
      .returning(['name', 'value'])
      .execute()
  return {
    async add(owner, counts) {
      const key = ownerKey(who, owner)
      checkCounts(who, counts)
      if (counts.length === 0) return query(async () => [])
      const at = now()
      const read = counts.filter(({ by }) => by === 0).map(({ name }) => toColumn(name))
      // In one order, so that two statements do not wait for each other.
      const added = counts.filter(({ by }) => by !== 0).toSorted((a, b) => (a.name < b.name ? -1 : 1))
      const values = new Map<string, number>()
      const note = (rows: readonly Pick<Row, 'name' | 'value'>[]) => {
        for (const { name, value } of rows) values.set(fromColumn(name), value)
      }
      if (added.length > 0) {
        const id = await query((db) => ownerId(db, key))
        const rows = added.map(({ name, by, expiresAt }) => ({
          owner: id,
          name: toColumn(name),
          value: by,
          expires_at: expiresAt,
        }))
        note(await statement((db) => add(db, rows, at)))
      }
      if (read.length > 0) note(await query((db) => find(db, { ...key, names: read, at })))
      return counts.map(({ name }) => values.get(name) ?? 0)
    },

    async prune(asked) {
      checkMaintenance(who, asked)
      const { before, limit } = asked
      const deleted = await statement((db) =>
        db
          .deleteFrom('troupe_counters')
          .where(({ eb, refTuple, selectFrom }) =>
            eb(
              refTuple('owner', 'name'),
              'in',
              selectFrom('troupe_counters as c')
                .select(['c.owner', 'c.name'])
                .where('c.expires_at', '<', before)
                .orderBy('c.expires_at')
                .limit(limit)
                .$asTuple('owner', 'name'),
            ),
          )
          .returning('name')
          .execute(),
      )
      return deleted.length
    },
  }
}
