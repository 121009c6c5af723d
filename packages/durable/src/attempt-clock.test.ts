import { fakeClock } from '@troupe/testkit'
import { expect, it, vi } from 'vitest'
import { attemptClock } from './attempt-clock.ts'

it('the timers of an attempt that was given up never fire', () => {
  const clock = fakeClock()
  const gone = new AbortController()
  const own = attemptClock(clock, gone.signal)
  const [before, cancelled, after] = [vi.fn(), vi.fn(), vi.fn()]
  own.after(10, before)
  own.after(10, cancelled)()
  clock.advance(10)
  expect([before.mock.calls.length, cancelled.mock.calls.length]).toEqual([1, 0])
  own.after(10, after)
  gone.abort()
  own.after(10, after)()
  own.after(10, after)
  clock.advance(100)
  expect(after.mock.calls).toEqual([])
  expect(own.now()).toBe(clock.now())
})
