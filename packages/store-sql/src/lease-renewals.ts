import { nextMacrotask } from '@troupe/kernel/kit'
import { type Expression, type SqlBool, sql } from 'kysely'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { patient } from './rows.ts'
import { statements } from './statements.ts'
import type { ThreadKey } from './thread-key.ts'

/** A lease that was renewed, with the cancel that was asked of its run. */
type Renewed = { readonly cancel: string | null }

interface Renewal {
  readonly key: ThreadKey
  readonly token: number
  readonly settled: PromiseWithResolvers<Renewed | undefined>
}

/**
 * Renews leases; those that are asked for at the same time, as the runs of a process do, are renewed together.
 * Contract: gives nothing for a lease that is gone, or that is not the one of this thread and owner. A store that is closed meanwhile waits for them.
 */
export function leaseRenewals(
  database: SqlDatabase,
): (db: Queries, key: ThreadKey, token: number, ttlMs: number) => Promise<Renewed | undefined> {
  const { engine } = database
  const time = leaseTime(database)
  const among = (tokens: Expression<string>): Expression<SqlBool> =>
    engine.flavour === 'sqlite'
      ? sql`token in (select value from json_each(${tokens}))`
      : sql`token = any(cast(${tokens} as bigint[]))`
  const textOf = (tokens: readonly number[]) => (engine.flavour === 'sqlite' ? `[${tokens}]` : `{${tokens}}`)
  const find = compiled((db, { tokens }: Slots<{ tokens: string }>) =>
    db
      .selectFrom('troupe_leases as l')
      .innerJoin('troupe_owners as o', 'o.id', 'l.owner')
      .where(among(tokens))
      .select(['l.token', 'l.thread_id', 'o.app', 'o.user_id']),
  )
  const extend = compiled((db, { tokens, expires_at }: Slots<{ tokens: string; expires_at: number }>) =>
    patient(
      engine,
      db
        .updateTable('troupe_leases')
        .set({ expires_at: time.expiry(expires_at) })
        .where(among(tokens)),
    ).returning(['token', 'cancel']),
  )

  const renewSome = async (db: Queries, some: readonly Renewal[], ttlMs: number): Promise<void> => {
    const wanted = textOf(some.map(({ token }) => token))
    const found = new Map((await find(db, { tokens: wanted })).map((row) => [row.token, row]))
    const isOwn = ({ key, token }: Renewal) => {
      const row = found.get(token)
      return row?.thread_id === key.threadId && row.app === key.app && row.user_id === key.user
    }
    const own = some.filter(isOwn).map(({ token }) => token)
    const expires_at = time.now(ttlMs)
    const rows = own.length === 0 ? [] : await extend(db, { tokens: textOf(own), expires_at })
    const renewed = new Map(rows.map((row) => [row.token, row]))
    for (const one of some) one.settled.resolve(isOwn(one) ? renewed.get(one.token) : undefined)
  }

  let waiting = new Map<number, Renewal[]>()
  const renewAll = async (db: Queries): Promise<void> => {
    await nextMacrotask()
    const groups = waiting
    waiting = new Map()
    for (const [ttlMs, group] of groups) {
      for (const some of statements(group)) {
        await renewSome(db, some, ttlMs).catch((error: unknown) => {
          for (const { settled } of some) settled.reject(error)
        })
      }
    }
  }

  return (db, key, token, ttlMs) => {
    if (waiting.size === 0) void renewAll(db)
    const settled = Promise.withResolvers<Renewed | undefined>()
    const group = waiting.get(ttlMs) ?? []
    waiting.set(ttlMs, group)
    group.push({ key, token, settled })
    return settled.promise
  }
}
