import type { CancelMode } from '../data/cancel.ts'
import { got } from '../data/kernel-error.ts'
import { UNKNOWN_RESULT } from '../history.ts'
import type { RunRecord, ToolCallRecord } from './store.ts'

const HARDNESS: Readonly<Record<CancelMode, number>> = { 'after-tools': 0, 'after-model': 1, now: 2 }
/** From soft to hard. */
export const CANCEL_MODES: readonly CancelMode[] = Object.keys(HARDNESS) as CancelMode[]

/** Whether a lease keeps others out. Contract: one that has expired still lets its holder commit and renew, until somebody takes it. */
export function isLive(lease: { readonly expiresAt: number }, now: number): boolean {
  return lease.expiresAt > now
}

/** Whether a token is that of the lease. Contract: without a lease no token matches, not even undefined. */
export function holdsLease<Lease extends { readonly token: number }>(
  lease: Lease | undefined,
  token: number,
): lease is Lease {
  return lease !== undefined && lease.token === token
}

/** The harder of two cancels, which is the one to keep. */
export function harderCancel(before: CancelMode | undefined, asked: CancelMode): CancelMode {
  return before && HARDNESS[before] > HARDNESS[asked] ? before : asked
}

/** How a take-over ends a run that is still `generating`: that of the former holder and those nested in it. */
export function lostRun(
  holder: string,
  endedAt: number,
  cancel?: CancelMode,
): Required<Pick<RunRecord, 'status' | 'error' | 'endedAt'>> {
  if (cancel) {
    const message = `lease: the run was cancelled, and its lease expired, ${got(holder)}`
    return { status: 'cancelled', error: { code: 'ABORTED', message }, endedAt }
  }
  const error = { code: 'LEASE_LOST', message: `lease: expired and taken over, ${got(holder)}` }
  return { status: 'failed', error, endedAt }
}

/** How a take-over ends a call of such a run that is still `running`. */
export function lostCall(endedAt: number): Required<Pick<ToolCallRecord, 'status' | 'result' | 'endedAt'>> {
  return { status: 'unknown', result: { content: UNKNOWN_RESULT }, endedAt }
}
