import { checkId } from './check-id.ts'
import { check, checkNumber, checkText, isRecord } from './check-value.ts'
import type { Grant } from './grant-store.ts'
import { checkLength } from './json-text.ts'

/** The number of grants that an owner keeps; the oldest one goes first. */
export const MAX_GRANTS = 1000

/** Checks a grant. */
export function checkGrant(who: string, grant: Omit<Grant, 'id'>): void {
  check(who, isRecord(grant), 'a grant', grant)
  const { agent, tool, rule = '', threadId, at } = grant
  for (const [what, text] of Object.entries({ agent, tool, rule })) {
    checkText(who, `${what} of a grant`, text)
    checkLength(who, `${what} of a grant`, text)
  }
  if (threadId !== undefined) checkId(who, 'threadId', threadId)
  checkNumber(who, 'at', at)
}

/** Checks which grants are wanted. */
export function checkGrantQuery(who: string, where: { readonly threadId?: string }): void {
  check(who, isRecord(where), 'a query of grants', where)
  if (where.threadId !== undefined) checkId(who, 'threadId', where.threadId)
}
