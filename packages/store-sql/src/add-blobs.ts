import type { Kysely } from 'kysely'
import type { Tables } from './schema.ts'

/** Migration 14: large texts of threads, which their messages only name. */
export async function addBlobs({ schema }: Kysely<Tables>): Promise<void> {
  await schema
    .createTable('troupe_blobs')
    .addColumn('thread', 'bigint', (column) => column.notNull().references('troupe_threads.id').onDelete('cascade'))
    .addColumn('blob_id', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('troupe_blobs_name', ['thread', 'blob_id', 'seq'])
    .execute()
}
