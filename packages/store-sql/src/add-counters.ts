import type { Kysely } from 'kysely'
import type { Tables } from './schema.ts'

/** Migration 12: what model calls cost, and counters. */
export async function addCounters({ schema }: Kysely<Tables>): Promise<void> {
  await schema.alterTable('troupe_usage').addColumn('cost', 'double precision').execute()
  await schema
    .createTable('troupe_counters')
    .addColumn('owner', 'bigint', (column) => column.notNull().references('troupe_owners.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('value', 'double precision', (column) => column.notNull())
    .addColumn('expires_at', 'double precision', (column) => column.notNull())
    .addPrimaryKeyConstraint('troupe_counters_key', ['owner', 'name'])
    .execute()
  await schema.createIndex('troupe_counters_expiry').on('troupe_counters').column('expires_at').execute()
}
