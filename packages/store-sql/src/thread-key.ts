import type { Owner, ThreadRef } from '@troupe/kernel'
import { checkOwner, checkRef } from '@troupe/kernel/store'
import { toColumn } from './column-text.ts'

/** The ref of a thread as columns. */
export interface ThreadKey {
  readonly app: string
  readonly user: string
  readonly threadId: string
}

/** Checks an owner and returns its columns. */
export function ownerKey(who: string, owner: Owner): Omit<ThreadKey, 'threadId'> {
  checkOwner(who, owner)
  return { app: toColumn(owner.app), user: toColumn(owner.user) }
}

/** Checks the ref of a thread and returns its columns. */
export function threadKey(who: string, ref: ThreadRef): ThreadKey {
  checkRef(who, ref)
  return { app: toColumn(ref.app), user: toColumn(ref.user), threadId: toColumn(ref.threadId) }
}
