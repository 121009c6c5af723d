import { got, KernelError } from '../data/kernel-error.ts'

/** The error of a lease that another run holds. */
export function threadBusy(who: string, holder: { readonly runId: string; readonly expiresAt: number }): KernelError {
  const { runId, expiresAt } = holder
  return new KernelError(
    'THREAD_BUSY',
    `${who}: another run holds the thread, until ${timeOf(expiresAt)} if its process has died, ${got(runId)}; wait for it, for example with busy: 'queue'`,
    {
      retryable: true,
      details: { runId, expiresAt },
    },
  )
}

/** The error of a run whose id its owner has used in another thread, or for the runs around or in another one. */
export function runIdTaken(who: string, runId: string): KernelError {
  return new KernelError(
    'RUN_ID_TAKEN',
    `${who}: a run of this owner has this id, or one that begins with it or that it begins with, ${got(runId)}; use a new one`,
  )
}

/** The error of a token that is not, or no longer, the token of the lease. */
export function leaseLost(who: string, token: unknown): KernelError {
  return new KernelError('LEASE_LOST', `${who}: stale lease token, ${got(token)}`)
}

/** The error of a thread that is not open, or is another owner's. */
export function threadNotFound(who: string, threadId: string): KernelError {
  return new KernelError('NOT_FOUND', `${who}: unknown thread, ${got(threadId)}`)
}

/** The error of a message that a thread does not have. */
export function messageNotFound(who: string, messageId: string): KernelError {
  return new KernelError('NOT_FOUND', `${who}: the thread has no such message, ${got(messageId)}`)
}

/** The error of a branch whose id another thread has. */
export function threadIdTaken(who: string, threadId: string): KernelError {
  return new KernelError('THREAD_ID_TAKEN', `${who}: there is a thread with this id, ${got(threadId)}`)
}

/** The error of a run log that does not exist. */
export function logNotFound(who: string, runId: string): KernelError {
  return new KernelError('NOT_FOUND', `${who}: unknown run log, ${got(runId)}`)
}

/** The error of a journal that does not exist, or is another run's. */
export function journalNotFound(who: string, runId: string): KernelError {
  return new KernelError('NOT_FOUND', `${who}: the thread has no journal of this run, ${got(runId)}`)
}

/** The error of an append that does not fit the end of the log; undefined if it does. */
export function logConflict(
  who: string,
  log: { readonly last: number; readonly closed: boolean },
  after: number,
): KernelError | undefined {
  if (!log.closed && after === log.last) return undefined
  const ends = log.closed ? 'was closed' : 'ends'
  return new KernelError('VERSION_CONFLICT', `${who}: the log ${ends} at ${log.last}, ${got(after)}`)
}

/** The error of a store that was disposed. */
export function storeClosed(who: string): KernelError {
  return new KernelError('STORE_CLOSED', `${who}: the store was used after it was disposed`)
}

function timeOf(time: number): string {
  return Number.isFinite(time) && Math.abs(time) < 8.64e15 ? new Date(time).toISOString() : 'it ends'
}
