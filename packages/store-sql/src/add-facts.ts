import { type Kysely, sql } from 'kysely'
import type { Flavour, Tables } from './schema.ts'

/** Migration 13: what is remembered about owners, with full-text search. */
export async function addFacts(db: Kysely<Tables>, flavour: Flavour): Promise<void> {
  const { schema } = db
  await schema
    .alterTable('troupe_owners')
    .addColumn('fact_seq', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  const table = schema.createTable('troupe_facts')
  const keyed =
    flavour === 'sqlite'
      ? table.addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
      : table.addColumn('id', 'bigint', (column) => column.primaryKey().generatedByDefaultAsIdentity())
  const facts = keyed
    .addColumn('owner', 'bigint', (column) => column.notNull().references('troupe_owners.id'))
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('at', 'double precision', (column) => column.notNull())
    .addColumn('embedding', 'text')
    .addUniqueConstraint('troupe_facts_seq', ['owner', 'seq'])
  if (flavour === 'postgres') {
    await facts.addColumn('terms', sql`tsvector`).execute()
    await schema.createIndex('troupe_facts_terms').on('troupe_facts').using('gin').column('terms').execute()
    return
  }
  await facts.execute()
  // Keeps no text. Migration 15 makes it anew: with `contentless_delete` the words of a forgotten fact stay in its pages. The words are ASCII letters, or signs that this tokenizer takes as such.
  await sql`create virtual table troupe_fact_terms using fts5(terms, content='', contentless_delete=1, detail=none, tokenize='ascii')`.execute(
    db,
  )
  await sql`insert into troupe_fact_terms (troupe_fact_terms, rank) values ('secure-delete', 1)`.execute(db)
}
