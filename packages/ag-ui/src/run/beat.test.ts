import { fakeClock } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { Beat } from './beat.ts'

it('calls all who wait at the same moment, whenever they came', () => {
  const clock = fakeClock(5)
  const beat = new Beat(clock)
  const called: string[] = []
  beat.next(() => called.push('a'))
  clock.advance(10)
  beat.next(() => called.push('b'))
  expect(clock.pending).toBe(1)
  clock.advance(4)
  expect(called).toEqual([])
  clock.advance(1)
  expect([called, clock.pending]).toEqual([['a', 'b'], 0])
})

it('waits for nobody who has left', () => {
  const clock = fakeClock(0)
  const beat = new Beat(clock)
  const called: string[] = []
  const [leaveA, leaveB] = [beat.next(() => called.push('a')), beat.next(() => called.push('b'))]
  leaveA()
  expect(clock.pending).toBe(1)
  clock.advance(20)
  expect(called).toEqual(['b'])
  leaveB()
  beat.next(() => called.push('c'))()
  expect(clock.pending).toBe(0)
})
