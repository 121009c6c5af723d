import type { Json } from '@troupe/kernel'
import type { StateChange } from '@troupe/kernel/store'
import { type SelectQueryBuilder, sql } from 'kysely'
import { fromJson, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import { lesser } from './thread-path.ts'

/** The longest key that is its own name: three bytes for each UTF-16 unit stay below what an index of a database takes. */
const LONGEST_NAME = 300

/** Adds changes of the state of a thread. Contract: the change of a key that counts for the same message is replaced. */
export function changeWriter(): (tx: Queries, thread: number, changes: readonly StateChange[]) => Promise<void> {
  const add = compiled((db, rows: Slots<readonly Tables['troupe_changes'][]>) =>
    db
      .insertInto('troupe_changes')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['thread', 'name', 'seq']).doUpdateSet(({ ref }) => ({ entry: ref('excluded.entry') })),
      ),
  )
  return async (tx, thread, changes) => {
    for (const some of statements(changes)) {
      const rows: Tables['troupe_changes'][] = []
      for (const { seq, key, value } of some) {
        const name = key.length <= LONGEST_NAME ? toColumn(key) : await hashOf(key)
        rows.push({ thread, name, seq, entry: JSON.stringify(value === undefined ? [key] : [key, value]) })
      }
      await add(tx, rows)
    }
  }
}

/** Reads the last change of each key of a thread that counts for a message or one before it, in order. */
export function changeReader(): (
  tx: Queries,
  wanted: { readonly thread: number; readonly upTo: number },
) => Promise<readonly StateChange[]> {
  // Goes from name to name in the index: the time depends on how many keys there are, not on how often they have changed.
  const read = compiled((db, { thread, end }: Slots<{ thread: number; end: number }>) =>
    db
      .withRecursive('names', (cte) =>
        cte
          .selectFrom('troupe_segments as s')
          .where('s.thread', '=', thread)
          .where('s.after', '<', end)
          .select(['s.source', 's.after', lesser(sql.ref<number>('s.upto'), end).as('end')])
          .select(({ selectFrom }) => nextName(selectFrom('troupe_changes as c').whereRef('c.thread', '=', 's.source')))
          .unionAll(
            cte
              .selectFrom('names as n')
              .where('n.name', 'is not', null)
              .select(['n.source', 'n.after', 'n.end'])
              .select(({ selectFrom }) =>
                nextName(
                  selectFrom('troupe_changes as c')
                    .whereRef('c.thread', '=', 'n.source')
                    .whereRef('c.name', '>', 'n.name'),
                ),
              ),
          ),
      )
      .selectFrom('names as n')
      .innerJoin('troupe_changes as c', (join) =>
        join.onRef('c.thread', '=', 'n.source').onRef('c.name', '=', 'n.name'),
      )
      .where('c.seq', '=', ({ selectFrom }) =>
        selectFrom('troupe_changes as last')
          .whereRef('last.thread', '=', 'n.source')
          .whereRef('last.name', '=', 'n.name')
          // What counts for the last message of a part belongs to the part that follows.
          .whereRef('last.seq', '>=', 'n.after')
          .whereRef('last.seq', '<', 'n.end')
          .select(({ fn }) => fn.max('last.seq').as('seq')),
      )
      .select(['c.seq', 'c.entry'])
      .orderBy('c.seq'),
  )
  return async (tx, { thread, upTo }) => {
    const found = new Map<string, StateChange>()
    for (const { seq, entry } of await read(tx, { thread, end: upTo + 1 })) {
      const [key, value] = fromJson<[key: string, value?: Json]>(entry)
      found.set(key, { seq, key, value })
    }
    return [...found.values()]
  }
}

type Changes = { readonly c: Tables['troupe_changes'] }

/** The first name among changes. */
function nextName<DB extends Changes>(changes: SelectQueryBuilder<DB, 'c', object>) {
  return changes.select(({ fn }) => fn.min<string | null>('c.name' as never).as('name')).as('name')
}

/** The name of a long key in the index. Contract: no other key is written like it, because `toColumn` puts a quote after the mark. */
async function hashOf(key: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(toColumn(key))))
  return `\u0001#${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
