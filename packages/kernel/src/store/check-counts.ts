import { checkId } from './check-id.ts'
import { check, checkList, checkNumber, isRecord } from './check-value.ts'
import type { Count } from './counter-store.ts'

/** The number of counters that one call may name. */
export const MAX_COUNTS = 100

/** Checks what is added to counters. */
export function checkCounts(who: string, counts: readonly Count[]): void {
  checkList(who, 'counts', counts)
  check(who, counts.length <= MAX_COUNTS, `at most ${MAX_COUNTS} counts`, counts.length)
  const names = new Set<string>()
  for (const count of counts) {
    check(who, isRecord(count), 'a count with name, by and expiresAt', count)
    checkId(who, 'name', count.name)
    checkNumber(who, 'by', count.by)
    checkNumber(who, 'expiresAt', count.expiresAt)
    check(who, !names.has(count.name), 'each name once', count.name)
    names.add(count.name)
  }
}
