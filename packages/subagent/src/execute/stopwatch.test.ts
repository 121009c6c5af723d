import { fakeClock } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { Stopwatch } from './stopwatch.ts'

test('a stopwatch counts its running time, over pauses that overlap and a stop in between', () => {
  const clock = fakeClock()
  const watch = new Stopwatch(clock)
  const rung: number[] = []
  watch.start(100, () => rung.push(watch.elapsedMs))
  clock.advance(30)
  const [first, second] = [watch.pause(), watch.pause()]
  clock.advance(1_000)
  first()
  first()
  clock.advance(1_000)
  second()
  clock.advance(30)
  watch.stop()
  clock.advance(1_000)
  expect(watch.elapsedMs).toBe(60)
  watch.start(100, () => rung.push(watch.elapsedMs))
  clock.advance(39)
  expect(rung).toEqual([])
  clock.advance(1)
  expect(rung).toEqual([100])
  watch.stop()
  expect(clock.pending).toBe(0)
})

test.each([3_600_000, -3_600_000])('a clock that is set by %i ms is not working time', (ms) => {
  const clock = fakeClock()
  const watch = new Stopwatch(clock)
  watch.start(100, () => {})
  clock.advance(30)
  clock.jump(ms)
  expect(watch.elapsedMs).toBe(30)
  watch.pause()()
  clock.advance(30)
  expect(watch.elapsedMs).toBe(60)
  watch.stop()
})
