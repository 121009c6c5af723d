import type { ThreadStore } from '@troupe/kernel'
import type { Transaction } from 'kysely'
import type { SqlDatabase } from './open-database.ts'
import { locked, ownerOf, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import type { ThreadAdder } from './thread-adder.ts'
import { threadKey } from './thread-key.ts'

/** Deletes threads. */
export function threadDelete(
  { who, engine, write }: SqlDatabase,
  { lockOwner }: Pick<ThreadAdder, 'lockOwner'>,
): ThreadStore['delete'] {
  return async (ref) => {
    const key = threadKey(who, ref)
    const logs = await write(async (tx) => {
      const owner = await ownerOf(tx, key).select('o.id').executeTakeFirst()
      if (!owner) return undefined
      await lockOwner(tx, owner.id)
      const thread = await locked(engine, threadOf(tx, key).select('t.id')).executeTakeFirst()
      if (!thread) return undefined
      const logs = await tx.selectFrom('troupe_run_logs').select('id').where('thread', '=', thread.id).execute()
      await tx.deleteFrom('troupe_leases').where('owner', '=', owner.id).where('thread_id', '=', key.threadId).execute()
      await leaveToBranch(tx, thread.id)
      await tx
        .deleteFrom('troupe_run_ids')
        .where('owner', '=', owner.id)
        .where('thread_id', '=', key.threadId)
        .execute()
      await tx.deleteFrom('troupe_threads').where('id', '=', thread.id).execute()
      const ids = logs.map(({ id }) => id)
      await engine.announce?.(tx, ids)
      return ids
    })
    if (logs) engine.watch.notify(logs)
    return logs !== undefined
  }
}

/**
 * Gives what other threads share with a thread to the one that shares most with it.
 * Contract: whatever another one shares is also on the way of this heir, so that nothing else has to move.
 */
async function leaveToBranch(tx: Transaction<Tables>, thread: number): Promise<void> {
  const heir = await tx
    .selectFrom('troupe_segments')
    .select(['thread', 'upto'])
    .where('source', '=', thread)
    .where('thread', '<>', thread)
    .orderBy('upto', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (!heir) return
  const rows = { thread: heir.thread }
  const named = (id: number) => tx.selectFrom('troupe_threads as t').where('t.id', '=', id)
  await tx
    .updateTable('troupe_run_ids')
    .set(({ selectFrom }) => ({
      thread_id: selectFrom('troupe_threads as h').where('h.id', '=', heir.thread).select('h.thread_id'),
    }))
    .where('owner', '=', named(thread).select('t.owner'))
    .where('thread_id', '=', named(thread).select('t.thread_id'))
    .where('run_id', 'in', ({ selectFrom }) =>
      selectFrom('troupe_messages').select('run_id').where('thread', '=', thread).where('seq', '<=', heir.upto),
    )
    .execute()
  await tx.updateTable('troupe_messages').set(rows).where('thread', '=', thread).where('seq', '<=', heir.upto).execute()
  // What counts for the last shared message is the heir's own.
  await tx.updateTable('troupe_changes').set(rows).where('thread', '=', thread).where('seq', '<', heir.upto).execute()
  await tx.updateTable('troupe_processed').set(rows).where('thread', '=', thread).where('seq', '<', heir.upto).execute()
  // Those that were written before the last shared message.
  await tx.updateTable('troupe_blobs').set(rows).where('thread', '=', thread).where('seq', '<', heir.upto).execute()
  await tx
    .updateTable('troupe_segments')
    .set({ source: heir.thread })
    .where('source', '=', thread)
    .where('thread', '<>', thread)
    .execute()
}
