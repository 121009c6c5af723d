import { isObject } from '../data/kernel-error.ts'
import { checkRef } from './check-ref.ts'
import { check, checkList, checkNumber, malformed } from './check-value.ts'
import type { Page, ThreadStore } from './store.ts'

/** Checks a page request and completes it. Contract: `after` becomes a whole number that every database can compare with. */
export function checkPage(who: string, page: Page = {}): Required<Page> {
  check(who, isObject(page), 'a page', page)
  const { newestFirst = false, limit = 100, after = newestFirst ? Number.MAX_SAFE_INTEGER : 0 } = page
  checkLimit(who, limit)
  checkNumber(who, 'after', after)
  const whole = newestFirst ? Math.ceil(after) : Math.floor(after)
  return { newestFirst, limit, after: Math.min(Math.max(whole, -1), Number.MAX_SAFE_INTEGER) }
}

/** Checks a query of `threads.idle`. */
export function checkIdle(who: string, query: Parameters<ThreadStore['idle']>[0]): void {
  checkMaintenance(who, query)
  const { after } = query
  if (after === undefined) return
  check(who, isObject(after), 'a thread as after', after)
  checkRef(who, after.ref)
  checkNumber(who, 'after.updatedAt', after.updatedAt)
}

/** Checks a maintenance query: of `records.open`, `journal.lost`, `records.prune` and `runLog.prune`. */
export function checkMaintenance(
  who: string,
  query: Pick<Parameters<ThreadStore['idle']>[0], 'before' | 'limit'>,
): void {
  if (!isObject(query)) throw malformed(who, 'a query with before and limit', query)
  checkNumber(who, 'before', query.before)
  checkLimit(who, query.limit)
}

/** Checks the ids of `threads.processed`. Contract: an id that is not text has not been processed and is not an error. */
export function checkProcessed(who: string, ids: readonly string[]): void {
  checkList(who, 'processed ids', ids)
}

/** Checks the ids of `threads.known`. Contract: an id that is not text belongs to no message and is not an error. */
export function checkKnown(who: string, ids: readonly string[]): void {
  checkList(who, 'message ids', ids)
}

function checkLimit(who: string, limit: number): void {
  check(who, Number.isInteger(limit) && limit >= 1 && limit <= 1000, 'a limit from 1 to 1000', limit)
}
