import type { Expression, Selectable, SelectQueryBuilder, SqlBool } from 'kysely'
import { compiled, type Slots, sure } from './compiled.ts'
import type { Engine, Queries } from './engine.ts'
import type { Tables } from './schema.ts'
import type { ThreadKey } from './thread-key.ts'

/** Nothing selected yet. */
type Nothing = Record<never, never>
type OwnerKey = Omit<ThreadKey, 'threadId'>
type Owners = Tables & { o: Tables['troupe_owners'] }
type Threads = Owners & { t: Tables['troupe_threads'] }
/** A thread that is locked for its records, with the last sequences given. */
export type ThreadCounters = Pick<
  Selectable<Tables['troupe_threads']>,
  'id' | 'owner' | 'run_seq' | 'call_seq' | 'unfinished'
>
/** A key, with values or with placeholders for them. */
type Given<Key> = { readonly [Name in keyof Key]: Key[Name] | Expression<Key[Name]> }

/** Finds an owner. */
export function ownerOf(db: Queries, { app, user }: Given<OwnerKey>): SelectQueryBuilder<Owners, 'o', Nothing> {
  return db.selectFrom('troupe_owners as o').where('o.app', '=', app).where('o.user_id', '=', user)
}

/** Finds a thread of its owner. Contract: a thread of another owner is not found. */
export function threadOf(db: Queries, key: Given<ThreadKey>): SelectQueryBuilder<Threads, 'o' | 't', Nothing> {
  return ownerOf(db, key).innerJoin('troupe_threads as t', 't.owner', 'o.id').where('t.thread_id', '=', key.threadId)
}

/**
 * Locks the rows of `t` until the transaction ends, if the database locks rows: in SQLite there is only one write transaction at a time.
 * Contract: read anything that depends on the lock in a later statement, because only the locked row itself is sure to be fresh.
 */
export function locked<DB extends { t: object }, TB extends keyof DB, O>(
  { flavour }: Engine,
  query: SelectQueryBuilder<DB, TB, O>,
  how: 'update' | 'no key update' | 'share' | 'key share' = 'update',
): SelectQueryBuilder<DB, TB, O> {
  if (flavour === 'sqlite') return query
  const of = 't' as never
  if (how === 'update') return query.forUpdate(of)
  if (how === 'no key update') return query.forNoKeyUpdate(of)
  return how === 'share' ? query.forShare(of) : query.forKeyShare(of)
}

/** Limits how long a statement that is not in a transaction waits for a row, if the database locks rows. */
export function patient<Query extends { where(limit: Expression<SqlBool>): Query }>(
  { lockLimit }: Engine,
  query: Query,
): Query {
  return lockLimit ? query.where(lockLimit) : query
}

/** Returns the key of an owner, and creates it if needed. */
export function ownerKeys(): (tx: Queries, key: OwnerKey) => Promise<number> {
  const find = compiled((db, key: Slots<OwnerKey>) => ownerOf(db, key).select('o.id'))
  const add = compiled((db, { app, user }: Slots<OwnerKey>) =>
    db
      .insertInto('troupe_owners')
      .values({ app, user_id: user, thread_seq: 0 })
      .onConflict((conflict) => conflict.columns(['app', 'user_id']).doNothing()),
  )
  return async (tx, key) => {
    const [found] = await find(tx, key)
    if (found) return found.id
    await add(tx, key)
    return sure(await find(tx, key)).id
  }
}
