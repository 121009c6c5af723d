import type { Json } from '../data/json.ts'
import { isObject } from '../data/kernel-error.ts'
import { checkId } from './check-id.ts'
import { check, checkList, checkNumber, looksLikeJson, malformed } from './check-value.ts'
import type { RunLogStore } from './store.ts'

type FollowOptions = Parameters<RunLogStore['follow']>[2]

/** Checks an append. Contract: events are JSON by their type and are not walked. */
export function checkAppend(who: string, runId: string, after: number, events: readonly Json[]): void {
  checkId(who, 'runId', runId)
  checkNumber(who, 'after', after)
  checkList(who, 'events', events)
  for (const event of events) if (!looksLikeJson(event)) throw malformed(who, 'an event of plain JSON', event)
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

function isSignal(value: unknown): boolean {
  return isObject(value) && typeof value.addEventListener === 'function' && typeof value.aborted === 'boolean'
}
