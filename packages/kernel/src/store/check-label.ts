import { notJson } from '../data/json.ts'
import { isObject } from '../data/kernel-error.ts'
import { checkPage } from './check-page.ts'
import { check, checkNumber, isRecord, isText, malformed } from './check-value.ts'
import type { ThreadLabel, ThreadStore } from './store.ts'

/** The longest title, in characters. */
export const MAX_TITLE = 500
/** The longest metadata, in characters of JSON. */
export const MAX_METADATA = 16_384

type RecentPage = NonNullable<Parameters<NonNullable<ThreadStore['recent']>>[1]>

/** Checks what a thread is called and what is noted about it. Contract: metadata is walked, because it is small. */
export function checkLabel(who: string, label: ThreadLabel): void {
  check(who, isRecord(label), 'a title or metadata', label)
  const { title = null, metadata = null } = label
  if (title !== null) {
    check(
      who,
      isText(title) && title !== '' && title.length <= MAX_TITLE,
      `a title of 1 to ${MAX_TITLE} characters`,
      title,
    )
  }
  if (metadata === null) return
  check(
    who,
    isRecord(metadata) && notJson(metadata) === undefined,
    'plain JSON with named fields as metadata',
    metadata,
  )
  const { length } = JSON.stringify(metadata)
  if (length > MAX_METADATA) throw malformed(who, `metadata of at most ${MAX_METADATA} characters as JSON`, length)
}

/** Checks a page of `threads.recent` and completes it. */
export function checkRecent(
  who: string,
  page: RecentPage = {},
): { readonly limit: number; readonly after: RecentPage['after'] } {
  check(who, isObject(page), 'a page', page)
  const { limit, after } = page
  if (after !== undefined) {
    check(who, isObject(after), 'a thread as after', after)
    checkNumber(who, 'after.updatedAt', after.updatedAt)
    checkNumber(who, 'after.seq', after.seq)
  }
  return { limit: checkPage(who, limit === undefined ? {} : { limit }).limit, after }
}
