import { factTerms } from '@troupe/kernel/store'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { fromColumn } from './column-text.ts'
import type { Queries } from './engine.ts'
import type { Flavour, Tables } from './schema.ts'

type Facts = SelectQueryBuilder<Tables & { f: Tables['troupe_facts'] }, 'f', Record<never, never>>

/** What the index knows a fact by. */
interface Indexed {
  readonly id: number
  readonly text: string
}

/** The full-text search of a database over facts. Contract: each word has the owner in front, so that neither matches nor work depend on other owners. */
interface FactIndex {
  /** What the row of a fact has for the index. */
  columns(owner: number, text: string): { readonly terms?: RawBuilder<string> }
  /** Adds what is beside the row. */
  add(tx: Queries, owner: number, fact: Indexed): Promise<void>
  /** Contract: called before the rows are deleted. */
  remove(tx: Queries, owner: number, seqs: readonly number[] | 'all'): Promise<void>
  /** The facts that have one of these words at least. */
  matching(facts: Facts, owner: number, terms: readonly string[]): Facts
}

/** The index of SQLite is FTS5, that of PostgreSQL a column of lexemes. Contract: both get the words of `factTerms`, which have no signs that either reads. */
export function factIndex(flavour: Flavour): FactIndex {
  return flavour === 'sqlite' ? FTS5 : LEXEMES
}

const FTS5: FactIndex = {
  columns: () => ({}),
  async add(tx, owner, { id, text }) {
    await sql`insert into troupe_fact_terms (rowid, terms) values (${id}, ${wordsOf(owner, text)})`.execute(tx)
  },
  async remove(tx, owner, seqs) {
    const facts = await tx
      .selectFrom('troupe_facts')
      .select(['id', 'text'])
      .where('owner', '=', owner)
      .$if(seqs !== 'all', (all) => all.where('seq', 'in', seqs === 'all' ? [] : seqs))
      .execute()
    // SQLite overwrites a row of the same size in its place. Deleting moves other rows, and may leave copies of those that are deleted next.
    for (const { id } of facts) {
      await sql`update troupe_facts set text = printf('%*s', length(cast(text as blob)), ''), embedding = iif(embedding is null, null, printf('%*s', length(embedding), '')) where id = ${id}`.execute(
        tx,
      )
    }
    for (const { id, text } of facts) {
      // An index without texts has to be told what it has of them. So a change of `factTerms` takes a migration that indexes anew.
      const words = wordsOf(owner, fromColumn(text))
      await sql`insert into troupe_fact_terms (troupe_fact_terms, rowid, terms) values ('delete', ${id}, ${words})`.execute(
        tx,
      )
    }
  },
  matching(facts, owner, terms) {
    const wanted = owned(owner, terms).map((term) => `"${term}"`)
    const rows = sql<number>`(select rowid from troupe_fact_terms where troupe_fact_terms match ${wanted.join(' OR ')})`
    return facts.where('f.id', 'in', rows)
  },
}

const LEXEMES: FactIndex = {
  columns(owner, text) {
    const words = JSON.stringify(owned(owner, factTerms(text)))
    const list = sql`select coalesce(array_agg(distinct w), '{}') from json_array_elements_text(cast(${words} as json)) as w`
    return { terms: sql<string>`array_to_tsvector((${list}))` }
  },
  async add() {},
  // The column goes with its row.
  async remove() {},
  matching(facts, owner, terms) {
    const wanted = owned(owner, terms).map((term) => `'${term}'`)
    return facts.where(sql<boolean>`${sql.ref('f.terms')} @@ cast(${wanted.join(' | ')} as tsquery)`)
  },
}

function wordsOf(owner: number, text: string): string {
  return owned(owner, factTerms(text)).join(' ')
}

function owned(owner: number, terms: readonly string[]): readonly string[] {
  return terms.map((term) => `${owner}x${term}`)
}
