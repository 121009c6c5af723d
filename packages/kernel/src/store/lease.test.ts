import { expect, it } from 'vitest'
import { CANCEL_MODES, harderCancel, holdsLease, isLive, lostCall, lostRun } from './lease.ts'

it('a lease keeps others out until the moment it expires', () => {
  expect([9, 10, 11].map((now) => isLive({ expiresAt: 10 }, now))).toEqual([true, false, false])
})

it('no token holds a lease that is not there', () => {
  expect(holdsLease({ token: 7 }, 7)).toBe(true)
  expect(holdsLease({ token: 7 }, 8)).toBe(false)
  for (const token of [undefined, null, 7]) expect(holdsLease(undefined, token as number)).toBe(false)
})

it('the harder cancel is kept, whichever came first', () => {
  const [soft, middle, hard] = CANCEL_MODES as ['after-tools', 'after-model', 'now']
  expect(harderCancel(undefined, soft)).toBe(soft)
  expect([harderCancel(soft, middle), harderCancel(middle, soft)]).toEqual([middle, middle])
  expect([harderCancel(middle, hard), harderCancel(hard, middle)]).toEqual([hard, hard])
})

it('a take-over fails the run with LEASE_LOST, or cancels it if that was asked, and leaves the outcome of its calls unknown', () => {
  expect(lostRun('run-1', 5)).toEqual({
    status: 'failed',
    error: { code: 'LEASE_LOST', message: 'lease: expired and taken over, got "run-1"' },
    endedAt: 5,
  })
  expect(lostRun('run-1', 5, 'now')).toMatchObject({ status: 'cancelled', error: { code: 'ABORTED' }, endedAt: 5 })
  expect(lostCall(5)).toEqual({
    status: 'unknown',
    result: { content: 'The outcome of this call is not known.' },
    endedAt: 5,
  })
})
