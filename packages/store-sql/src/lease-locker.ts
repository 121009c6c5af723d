import { compiled, type Slots } from './compiled.ts'
import type { Engine } from './engine.ts'
import { locked, ownerOf } from './rows.ts'
import type { ThreadKey } from './thread-key.ts'

/** Reads the lease of a thread for a write under its token. Contract: nobody else takes the lease before the transaction has ended. */
export function leaseLocker(engine: Engine) {
  return compiled((db, key: Slots<ThreadKey>) =>
    locked(
      engine,
      ownerOf(db, key)
        .innerJoin('troupe_leases as t', 't.owner', 'o.id')
        .where('t.thread_id', '=', key.threadId)
        .select(['t.token', 't.run_id', 't.expires_at', 't.cancel']),
      'share',
    ),
  )
}
