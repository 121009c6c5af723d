import type { Fact, FactStore } from '@troupe/kernel'
import {
  checkFact,
  checkFactSearch,
  checkForget,
  checkNear,
  checkPage,
  MAX_FACTS,
  nearestFacts,
  rankFacts,
  searchTerms,
} from '@troupe/kernel/store'
import { fromColumn, toColumn } from './column-text.ts'
import { sure } from './compiled.ts'
import type { Queries } from './engine.ts'
import { factIndex } from './fact-index.ts'
import type { SqlDatabase } from './open-database.ts'
import { ownerKeys, ownerOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { ownerKey } from './thread-key.ts'

type Key = ReturnType<typeof ownerKey>
type Row = Pick<Tables['troupe_facts'], 'seq' | 'text' | 'at'>

/** Facts in SQL. */
export function sqlFacts({ who, engine, query, overwriting }: SqlDatabase): FactStore {
  const ownerId = ownerKeys()
  const index = factIndex(engine.flavour)

  /** Takes facts out, with what the index has of them. */
  async function remove(tx: Queries, owner: number, seqs: readonly number[] | 'all'): Promise<number> {
    await index.remove(tx, owner, seqs)
    const rows = await tx
      .deleteFrom('troupe_facts')
      .where('owner', '=', owner)
      .$if(seqs !== 'all', (all) => all.where('seq', 'in', seqs === 'all' ? [] : seqs))
      .returning('id')
      .execute()
    return rows.length
  }

  /** Takes the next place of an owner, and locks the owner, so that no two facts get one place. */
  async function nextPlace(tx: Queries, { app, user }: Key) {
    const taken = await tx
      .updateTable('troupe_owners')
      .set(({ eb }) => ({ fact_seq: eb('fact_seq', '+', 1) }))
      .where('app', '=', app)
      .where('user_id', '=', user)
      .returning(['id', 'fact_seq'])
      .executeTakeFirst()
    return taken && { owner: taken.id, seq: taken.fact_seq }
  }

  async function firstPlace(tx: Queries, key: Key) {
    await ownerId(tx, key)
    return sure([await nextPlace(tx, key)].filter((place) => place !== undefined))
  }

  async function sameText(tx: Queries, owner: number, text: string): Promise<Fact | undefined> {
    const row = await tx
      .selectFrom('troupe_facts')
      .select(['seq', 'text', 'at'])
      .where('owner', '=', owner)
      .where('text', '=', toColumn(text))
      .orderBy('seq')
      .limit(1)
      .executeTakeFirst()
    return row && factOf(row)
  }

  /** Contract: in the transaction that has taken the place. */
  async function giveBack(tx: Queries, owner: number): Promise<void> {
    await tx
      .updateTable('troupe_owners')
      .set(({ eb }) => ({ fact_seq: eb('fact_seq', '-', 1) }))
      .where('id', '=', owner)
      .execute()
  }

  async function forgetOldest(tx: Queries, owner: number): Promise<void> {
    const old = await tx
      .selectFrom('troupe_facts')
      .select('seq')
      .where('owner', '=', owner)
      .orderBy('seq', 'desc')
      .offset(MAX_FACTS)
      .limit(MAX_FACTS)
      .execute()
    if (old.length === 0) return
    await remove(
      tx,
      owner,
      old.map(({ seq }) => seq),
    )
  }

  return {
    async add(given, fact) {
      const key = ownerKey(who, given)
      checkFact(who, fact)
      const { text, at, embedding } = fact
      const add = async (tx: Queries): Promise<Fact> => {
        const { owner, seq } = (await nextPlace(tx, key)) ?? (await firstPlace(tx, key))
        const same = await sameText(tx, owner, text)
        if (same) {
          await giveBack(tx, owner)
          return same
        }
        const row = { owner, seq, text: toColumn(text), at, embedding: embedding ? packed(embedding) : null }
        const { id } = await tx
          .insertInto('troupe_facts')
          .values({ ...row, ...index.columns(owner, text) })
          .returning('id')
          .executeTakeFirstOrThrow()
        await index.add(tx, owner, { id, text })
        if (seq > MAX_FACTS) await forgetOldest(tx, owner)
        return { seq, text, at }
      }
      return query(() => overwriting(add))
    },

    async list(owner, page) {
      const key = ownerKey(who, owner)
      const { newestFirst, limit, after } = checkPage(who, page)
      const rows = await query((db) =>
        factsOf(db, key)
          .select(['f.seq', 'f.text', 'f.at'])
          .where('f.seq', newestFirst ? '<' : '>', after)
          .orderBy('f.seq', newestFirst ? 'desc' : 'asc')
          .limit(limit)
          .execute(),
      )
      return rows.map(factOf)
    },

    async search(owner, asked) {
      const key = ownerKey(who, owner)
      checkFactSearch(who, asked)
      const { text, limit } = asked
      const terms = searchTerms(text)
      if (terms.length === 0) return query(async () => [])
      const rows = await query(async (db) => {
        const found = await ownerOf(db, key).select('o.id').executeTakeFirst()
        if (!found) return []
        return index
          .matching(db.selectFrom('troupe_facts as f'), found.id, terms)
          .select(['f.seq', 'f.text', 'f.at'])
          .where('f.owner', '=', found.id)
          .execute()
      })
      return rankFacts(text, rows.map(factOf), limit)
    },

    async near(owner, asked) {
      const key = ownerKey(who, owner)
      checkNear(who, asked)
      const rows = await query((db) =>
        factsOf(db, key)
          .select(['f.seq', 'f.text', 'f.at', 'f.embedding'])
          .where('f.embedding', 'is not', null)
          .execute(),
      )
      const facts = rows.map((row) => ({ fact: factOf(row), embedding: unpacked(row.embedding ?? '') }))
      return nearestFacts(asked.embedding, facts, asked.limit)
    },

    async forget(given, seqs) {
      const key = ownerKey(who, given)
      checkForget(who, seqs)
      const whole = seqs === 'all' ? seqs : seqs.filter((seq) => Number.isSafeInteger(seq))
      if (whole !== 'all' && whole.length === 0) return query(async () => 0)
      return query(async () => {
        const forgotten = await overwriting(async (tx) => {
          const owner = await ownerOf(tx, key).select('o.id').executeTakeFirst()
          return owner ? remove(tx, owner.id, whole) : 0
        })
        if (forgotten > 0) await engine.emptyLog?.()
        return forgotten
      })
    },
  }
}

function factsOf(db: Queries, key: Key) {
  return ownerOf(db, key).innerJoin('troupe_facts as f', 'f.owner', 'o.id')
}

function factOf({ seq, text, at }: Row): Fact {
  return { seq, text: fromColumn(text), at }
}

/** An embedding as text: four bytes for each number. */
function packed(embedding: readonly number[]): string {
  const { buffer } = Float32Array.from(embedding)
  return Buffer.from(buffer).toString('base64')
}

function unpacked(column: string): Float32Array {
  const bytes = Uint8Array.from(Buffer.from(column, 'base64'))
  return new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4))
}
