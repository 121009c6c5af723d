import type { Json } from '../data/json.ts'
import { isObject } from '../data/kernel-error.ts'
import { checkId } from './check-id.ts'
import { checkMaintenance } from './check-page.ts'
import { check, checkList, checkNumber, checkText, isRecord, isText, looksLikeJson, malformed } from './check-value.ts'
import { checkLength } from './json-text.ts'
import type { LogEntry, RunLogStore } from './store.ts'

type FollowOptions = Parameters<RunLogStore['follow']>[2]

/** Checks an append. Contract: events are JSON by their type and are not walked; nobody reads the texts. */
export function checkAppend(
  who: string,
  runId: string,
  after: number,
  events: readonly Json[],
  texts?: readonly string[],
): void {
  checkId(who, 'runId', runId)
  checkNumber(who, 'after', after)
  checkList(who, 'events', events)
  for (const event of events) if (!looksLikeJson(event)) throw malformed(who, 'an event of plain JSON', event)
  if (texts === undefined) return
  checkList(who, 'texts', texts)
  check(who, texts.length === events.length, `${events.length} texts, one for each event`, texts.length)
  for (const text of texts) {
    checkText(who, 'an event as JSON', text)
    checkLength(who, 'an event', text)
  }
}

/** Checks the options of a follower and completes them. Contract: `after` becomes a whole number from 0 on. */
export function checkFollow(who: string, runId: string, options: FollowOptions): Required<FollowOptions> {
  checkId(who, 'runId', runId)
  if (!isObject(options)) throw malformed(who, 'options with a signal', options)
  const { after = 0, live = true, signal } = options
  checkNumber(who, 'after', after)
  check(who, isSignal(signal), 'an AbortSignal as signal', signal)
  return { after: Math.min(Math.max(0, Math.floor(after)), Number.MAX_SAFE_INTEGER), live, signal }
}

/** Checks the entries of a compacted log. Contract: their sequences grow; events are JSON by their type and are not walked. */
export function checkCompact(who: string, runId: string, entries: readonly LogEntry[]): void {
  checkId(who, 'runId', runId)
  checkList(who, 'entries', entries)
  let last = 0
  for (const entry of entries) {
    check(who, isRecord(entry), 'an entry with seq and event', entry)
    const { seq, event } = entry
    check(who, Number.isSafeInteger(seq) && seq > last, `a whole number after ${last} as seq`, seq)
    if (!looksLikeJson(event)) throw malformed(who, 'an event of plain JSON', event)
    last = seq
  }
}

/** Checks which logs are to be deleted. */
export function checkPrune(who: string, query: Parameters<RunLogStore['prune']>[0]): void {
  checkMaintenance(who, query)
  const { apps } = query
  if (apps === undefined) return
  checkList(who, 'apps', apps)
  for (const app of apps) check(who, isText(app), 'a text as app', app)
}

function isSignal(value: unknown): boolean {
  return isObject(value) && typeof value.addEventListener === 'function' && typeof value.aborted === 'boolean'
}
