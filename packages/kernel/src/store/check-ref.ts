import { isObject } from '../data/kernel-error.ts'
import type { Owner, ThreadRef } from '../data/thread-ref.ts'
import { checkId } from './check-id.ts'
import { malformed } from './check-value.ts'

/** Checks an owner. */
export function checkOwner(who: string, owner: Owner): void {
  if (!isObject(owner)) throw malformed(who, 'an owner with app and user', owner)
  checkId(who, 'app', owner.app)
  checkId(who, 'user', owner.user)
}

/** Checks the ref of a thread. */
export function checkRef(who: string, ref: ThreadRef): void {
  if (!isObject(ref)) throw malformed(who, 'a ref with app, user and threadId', ref)
  checkOwner(who, ref)
  checkId(who, 'threadId', ref.threadId)
}
