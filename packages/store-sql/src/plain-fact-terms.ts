import { type Kysely, sql } from 'kysely'
import { fromColumn } from './column-text.ts'
import { factIndex } from './fact-index.ts'
import type { Flavour, Tables } from './schema.ts'

/** The number of facts that are read at once. */
const ROWS = 500

/** Migration 15: in SQLite an index that takes the words of a forgotten fact out of its pages, which one with `contentless_delete` only marks. */
export async function plainFactTerms(db: Kysely<Tables>, flavour: Flavour): Promise<void> {
  if (flavour !== 'sqlite') return
  await sql`pragma secure_delete = on`.execute(db)
  await sql`drop table troupe_fact_terms`.execute(db)
  // The words are ASCII letters, or signs that this tokenizer takes as such.
  await sql`create virtual table troupe_fact_terms using fts5(terms, content='', detail=none, tokenize='ascii')`.execute(
    db,
  )
  await sql`insert into troupe_fact_terms (troupe_fact_terms, rank) values ('secure-delete', 1)`.execute(db)
  for (let after = 0; ; ) {
    const rows = await db
      .selectFrom('troupe_facts')
      .select(['id', 'owner', 'text'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(ROWS)
      .execute()
    for (const { id, owner, text } of rows) await factIndex(flavour).add(db, owner, { id, text: fromColumn(text) })
    const last = rows.at(-1)
    if (!last) break
    after = last.id
  }
  // Writes what is left before the pragma ends.
  await sql`insert into troupe_fact_terms (troupe_fact_terms) values ('optimize')`.execute(db)
  await sql`pragma secure_delete = off`.execute(db)
}
