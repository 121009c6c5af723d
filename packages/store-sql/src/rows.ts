import type { SelectQueryBuilder } from 'kysely'
import type { OwnerKey, ThreadKey } from './checks.ts'
import type { Tables } from './schema.ts'
import type { Engine, Queries } from './session.ts'

/** Nothing selected yet. */
type Nothing = Record<never, never>
type Owners = Tables & { o: Tables['troupe_owners'] }
type Threads = Owners & { t: Tables['troupe_threads'] }

/** Finds an owner. */
export function ownerOf(db: Queries, { app, user }: OwnerKey): SelectQueryBuilder<Owners, 'o', Nothing> {
  return db.selectFrom('troupe_owners as o').where('o.app', '=', app).where('o.user_id', '=', user)
}

/** Finds a thread of its owner. Contract: foreign is absent. */
export function threadOf(db: Queries, key: ThreadKey): SelectQueryBuilder<Threads, 'o' | 't', Nothing> {
  return ownerOf(db, key).innerJoin('troupe_threads as t', 't.owner', 'o.id').where('t.thread_id', '=', key.threadId)
}

/**
 * Locks the rows of `t` until the transaction ends, where rows can be locked: in SQLite the transaction is the only one that writes.
 * Contract: what depends on the lock is read in a later statement, since only the locked row itself is sure to be fresh.
 */
export function locked<DB extends { t: object }, TB extends keyof DB, O>(
  { flavour }: Engine,
  query: SelectQueryBuilder<DB, TB, O>,
  how: 'update' | 'share' | 'key share' = 'update',
): SelectQueryBuilder<DB, TB, O> {
  if (flavour === 'sqlite') return query
  const of = 't' as never
  return how === 'update' ? query.forUpdate(of) : how === 'share' ? query.forShare(of) : query.forKeyShare(of)
}

/** The key of an owner, made if there is none. */
export async function ensureOwner(tx: Queries, key: OwnerKey): Promise<number> {
  const found = await ownerOf(tx, key).select('o.id').executeTakeFirst()
  if (found) return found.id
  await tx
    .insertInto('troupe_owners')
    .values({ app: key.app, user_id: key.user, thread_seq: 0 })
    .onConflict((conflict) => conflict.columns(['app', 'user_id']).doNothing())
    .execute()
  return (await ownerOf(tx, key).select('o.id').executeTakeFirstOrThrow()).id
}
