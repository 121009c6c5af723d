import type { CancelMode, CancelRequest } from '../data/cancel.ts'
import { isObject } from '../data/kernel-error.ts'
import { checkId } from './check-id.ts'
import { check, checkText, malformed } from './check-value.ts'
import { CANCEL_MODES } from './lease.ts'
import type { LeaseStore } from './store.ts'

/** Checks who wants a lease, and for how long. */
export function checkHolder(who: string, holder: Parameters<LeaseStore['acquire']>[1]): void {
  if (!isObject(holder)) throw malformed(who, 'a holder with runId and ttlMs', holder)
  checkId(who, 'runId', holder.runId)
  checkTtl(who, holder.ttlMs)
  const { begins = false, again = false } = holder
  check(who, typeof begins === 'boolean', 'begins to be true or false', begins)
  check(who, typeof again === 'boolean', 'again to be true or false', again)
}

/** Checks how long a lease is. */
export function checkTtl(who: string, ttlMs: number): void {
  check(who, Number.isFinite(ttlMs) && ttlMs > 0, 'a positive ttlMs', ttlMs)
}

/** Checks a cancel request and returns its mode. */
export function checkCancel(who: string, request: CancelRequest): CancelMode {
  if (!isObject(request)) throw malformed(who, 'a cancel request', request)
  const { mode = 'now', runId = '' } = request
  check(who, CANCEL_MODES.includes(mode), `a cancel mode of ${CANCEL_MODES.join(', ')}`, mode)
  checkText(who, 'runId', runId)
  return mode
}
