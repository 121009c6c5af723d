import { describe, expect, it } from 'vitest'
import { fakeClock } from './fake-clock.ts'

describe('fakeClock', () => {
  it('stands still until it is advanced', () => {
    const clock = fakeClock(5)
    expect(clock.now()).toBe(5)
    clock.advance(10)
    expect(clock.now()).toBe(15)
  })

  it('calls back in order of time, each at its own moment, and equal ones as they were asked for', () => {
    const clock = fakeClock(0)
    const heard: [string, number][] = []
    const hear = (name: string) => () => void heard.push([name, clock.now()])
    clock.after(30, hear('late'))
    clock.after(10, hear('early'))
    clock.after(10, hear('early too'))
    clock.advance(29)
    expect(heard).toEqual([
      ['early', 10],
      ['early too', 10],
    ])
    clock.advance(1)
    expect(heard.at(-1)).toEqual(['late', 30])
    expect(clock.pending).toBe(0)
  })

  it('calls back once, and not what was cancelled', () => {
    const clock = fakeClock()
    let calls = 0
    const cancel = clock.after(1, () => calls++)
    clock.after(1, () => calls++)
    cancel()
    cancel()
    expect(clock.pending).toBe(1)
    clock.advance(1)
    clock.advance(1)
    expect(calls).toBe(1)
  })

  it('fires what a callback asks for on the way, and lets a callback cancel another', () => {
    const clock = fakeClock(0)
    const heard: number[] = []
    const tick = () => {
      heard.push(clock.now())
      clock.after(10, tick)
    }
    clock.after(10, tick)
    const cancel = clock.after(25, () => heard.push(-1))
    clock.after(20, cancel)
    clock.advance(35)
    expect(heard).toEqual([10, 20, 30])
    expect(clock.pending).toBe(1)
  })
})
