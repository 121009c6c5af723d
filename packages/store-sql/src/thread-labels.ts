import type { ThreadLabel, ThreadRef } from '@troupe/kernel'
import { checkLabel } from '@troupe/kernel/store'
import { toColumn } from './column-text.ts'
import type { SqlDatabase } from './open-database.ts'
import { ownerOf, patient } from './rows.ts'
import { threadKey } from './thread-key.ts'

/** Names threads. Contract: one statement, which waits for a commit and changes no column that a commit writes. */
export function threadLabels({
  who,
  engine,
  statement,
}: SqlDatabase): (ref: ThreadRef, label: ThreadLabel) => Promise<void> {
  return async (ref, label) => {
    const key = threadKey(who, ref)
    checkLabel(who, label)
    const { title, metadata } = label
    const changed = {
      ...(title !== undefined && { title: title === null ? null : toColumn(title) }),
      ...(metadata !== undefined && { metadata: metadata === null ? null : JSON.stringify(metadata) }),
    }
    if (Object.keys(changed).length === 0) return
    await statement((db) =>
      patient(engine, db.updateTable('troupe_threads').set(changed))
        .where('owner', '=', ownerOf(db, key).select('o.id'))
        .where('thread_id', '=', key.threadId)
        .execute(),
    )
  }
}
