import { expect, it } from 'vitest'
import type { KernelError } from '../data/kernel-error.ts'
import {
  journalNotFound,
  leaseLost,
  logConflict,
  logNotFound,
  storeClosed,
  threadBusy,
  threadNotFound,
} from './refusals.ts'

it.each<[KernelError | undefined, string, string]>([
  [
    threadBusy('store', { runId: 'r', expiresAt: 9 }),
    'THREAD_BUSY',
    'store: another run holds the thread, until 1970-01-01T00:00:00.009Z if its process has died, got "r"; wait for it, for example with busy: \'queue\'',
  ],
  [leaseLost('store', 7), 'LEASE_LOST', 'store: stale lease token, got 7'],
  [threadNotFound('store', 't'), 'NOT_FOUND', 'store: unknown thread, got "t"'],
  [logNotFound('store', 'r'), 'NOT_FOUND', 'store: unknown run log, got "r"'],
  [journalNotFound('store', 'r'), 'NOT_FOUND', 'store: the thread has no journal of this run, got "r"'],
  [logConflict('store', { last: 3, closed: false }, 2), 'VERSION_CONFLICT', 'store: the log ends at 3, got 2'],
  [logConflict('store', { last: 3, closed: true }, 3), 'VERSION_CONFLICT', 'store: the log was closed at 3, got 3'],
  [storeClosed('store'), 'STORE_CLOSED', 'store: the store was used after it was disposed'],
])('%s', (error, code, message) => {
  expect([error?.code, error?.message]).toEqual([code, message])
})

it('a busy thread may be free later, and says who holds it until when', () => {
  expect(threadBusy('store', { runId: 'r', expiresAt: 9 })).toMatchObject({
    retryable: true,
    details: { runId: 'r', expiresAt: 9 },
  })
})

it('an append that fits the end of an open log is not a conflict', () => {
  expect(logConflict('store', { last: 3, closed: false }, 3)).toBeUndefined()
})
