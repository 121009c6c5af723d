import type { BlobStore } from '@troupe/kernel'
import { checkBlob, checkId, threadNotFound } from '@troupe/kernel/store'
import { sql } from 'kysely'
import { fromColumn, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { type ThreadKey, threadKey } from './thread-key.ts'
import { unindexed } from './thread-path.ts'

/** Large texts in SQL. */
export function sqlBlobs({ who, engine, query, write }: SqlDatabase): BlobStore {
  // Only against a delete: a text changes nothing of its thread.
  const lockThread = compiled((db, key: Slots<ThreadKey>) =>
    locked(engine, threadOf(db, key).select(['t.id', 't.message_seq']), 'key share'),
  )
  const upsert = compiled((db, row: Slots<Tables['troupe_blobs']>) =>
    db
      .insertInto('troupe_blobs')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['thread', 'blob_id', 'seq']).doUpdateSet(({ ref }) => ({ text: ref('excluded.text') })),
      ),
  )
  const find = compiled((db, { id, ...key }: Slots<ThreadKey & { id: string }>) =>
    threadOf(db, key)
      .innerJoin('troupe_segments as s', 's.thread', 't.id')
      .innerJoin('troupe_blobs as b', 'b.thread', 's.source')
      .where('b.blob_id', '=', id)
      .where(unindexed('b.seq'), '<', sql.ref<number>('s.upto'))
      .select('b.text')
      .orderBy('b.seq', 'desc')
      .limit(1),
  )

  return {
    async put(ref, id, text) {
      const key = threadKey(who, ref)
      checkBlob(who, id, text)
      const row = { blob_id: toColumn(id), text: toColumn(text) }
      await write(async (tx) => {
        const [thread] = await lockThread(tx, key)
        if (!thread) throw threadNotFound(who, ref.threadId)
        await upsert(tx, { thread: thread.id, seq: thread.message_seq, ...row })
      })
    },

    async get(ref, id) {
      const key = threadKey(who, ref)
      checkId(who, 'id', id)
      const [blob] = await query((db) => find(db, { ...key, id: toColumn(id) }))
      return blob && fromColumn(blob.text)
    },
  }
}
