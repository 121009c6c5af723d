import { KernelError } from '@troupe/kernel'
import type { Kysely } from 'kysely'
import type { Engine } from './engine.ts'
import { MIGRATIONS } from './migrations.ts'
import type { Tables } from './schema.ts'

/** Brings a database up to date. Contract: safe when several processes do it at once; a newer database is refused with `STORE_NEWER` and not changed. */
export async function migrate({ who, db, flavour, lockSchema }: Engine): Promise<void> {
  const check = (version = 0) => {
    if (version <= MIGRATIONS.length) return
    throw new KernelError(
      'STORE_NEWER',
      `${who}: the database has version ${version}, but this code supports only ${MIGRATIONS.length}; update the package`,
      { details: { version, known: MIGRATIONS.length } },
    )
  }
  // A user of existing tables needs no right to create any.
  const before = await versionOf(db)
  check(before)
  if (before === MIGRATIONS.length) return
  await db.transaction().execute(async (tx) => {
    await lockSchema(tx)
    await tx.schema
      .createTable('troupe_schema')
      .ifNotExists()
      .addColumn('version', 'integer', (column) => column.notNull())
      .execute()
    const version = (await tx.selectFrom('troupe_schema').select('version').executeTakeFirst())?.version
    check(version)
    for (const migration of MIGRATIONS.slice(version ?? 0)) await migration(tx, flavour)
    const now = { version: MIGRATIONS.length }
    if (version === undefined) await tx.insertInto('troupe_schema').values(now).execute()
    else await tx.updateTable('troupe_schema').set(now).execute()
  })
}

/** Undefined if the table does not exist or cannot be read; the transaction throws the reason. */
async function versionOf(db: Kysely<Tables>): Promise<number | undefined> {
  try {
    return (await db.selectFrom('troupe_schema').select('version').executeTakeFirst())?.version
  } catch {
    return undefined
  }
}
