import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Queries } from './engine.ts'
import type { Flavour, Tables } from './schema.ts'

type Facts = SelectQueryBuilder<Tables & { f: Tables['troupe_facts'] }, 'f', Record<never, never>>

/** The full-text search of a database over facts. Contract: each word has the owner in front, so that neither matches nor work depend on other owners. */
interface FactIndex {
  /** What the row of a fact has for the index. */
  columns(owner: number, terms: readonly string[]): { readonly terms?: RawBuilder<string> }
  /** Adds what is beside the row. */
  add(tx: Queries, id: number, owner: number, terms: readonly string[]): Promise<void>
  remove(tx: Queries, ids: readonly number[]): Promise<void>
  /** The facts that have one of these words at least. */
  matching(facts: Facts, owner: number, terms: readonly string[]): Facts
}

/** The index of SQLite is FTS5, that of PostgreSQL a column of lexemes. Contract: both get the words of `factTerms`, which have no signs that either reads. */
export function factIndex(flavour: Flavour): FactIndex {
  return flavour === 'sqlite' ? FTS5 : LEXEMES
}

const FTS5: FactIndex = {
  columns: () => ({}),
  async add(tx, id, owner, terms) {
    const words = owned(owner, terms).join(' ')
    await sql`insert into troupe_fact_terms (rowid, terms) values (${id}, ${words})`.execute(tx)
  },
  async remove(tx, ids) {
    for (const id of ids) await sql`delete from troupe_fact_terms where rowid = ${id}`.execute(tx)
  },
  matching(facts, owner, terms) {
    const wanted = owned(owner, terms).map((term) => `"${term}"`)
    const rows = sql<number>`(select rowid from troupe_fact_terms where troupe_fact_terms match ${wanted.join(' OR ')})`
    return facts.where('f.id', 'in', rows)
  },
}

const LEXEMES: FactIndex = {
  columns(owner, terms) {
    const words = JSON.stringify(owned(owner, terms))
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

function owned(owner: number, terms: readonly string[]): readonly string[] {
  return terms.map((term) => `${owner}x${term}`)
}
