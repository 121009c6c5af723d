import { checkId } from './check-id.ts'
import { check, isRecord } from './check-value.ts'
import type { ForkPoint } from './store.ts'

/** Checks where a thread branches, and the id of the branch. */
export function checkFork(who: string, request: ForkPoint & { readonly to: string }): void {
  check(who, isRecord(request), 'a message to branch at, and the id of the branch', request)
  const { at, before, to } = request
  check(who, at === undefined || before === undefined, 'one of at and before', request)
  if (before === undefined) checkId(who, 'message id as at', at)
  else checkId(who, 'message id as before', before)
  checkId(who, 'thread id as to', to)
}
