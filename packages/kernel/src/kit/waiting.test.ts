import { describe, expect, it, vi } from 'vitest'
import type { Clock } from '../index.ts'
import { sleep, systemClock, untilAborted, withinTime } from '../kit.ts'

/** A clock whose timers fire by hand; `timers` are those that neither fired nor were cancelled. */
function manualClock(): { readonly clock: Clock; readonly timers: (() => void)[] } {
  const timers: (() => void)[] = []
  const remove = (timer: () => void) => {
    const index = timers.indexOf(timer)
    if (index >= 0) timers.splice(index, 1)
  }
  const after: Clock['after'] = (_ms, callback) => {
    const timer = () => {
      remove(timer)
      callback()
    }
    timers.push(timer)
    return () => remove(timer)
  }
  return { clock: { now: () => 0, after }, timers }
}

/** A signal that counts its listeners. */
function countedSignal() {
  const controller = new AbortController()
  const added = vi.spyOn(controller.signal, 'addEventListener')
  const removed = vi.spyOn(controller.signal, 'removeEventListener')
  return { controller, signal: controller.signal, left: () => added.mock.calls.length - removed.mock.calls.length }
}

describe('sleep', () => {
  it('ends when its time is over and removes its listener', async () => {
    const { clock, timers } = manualClock()
    const { signal, left } = countedSignal()
    const slept = sleep(clock, 5, signal)
    timers[0]?.()
    await slept
    expect(left()).toBe(0)
  })

  it('rejects with the reason of an abort and cancels its timer', async () => {
    const { clock, timers } = manualClock()
    const controller = new AbortController()
    const slept = sleep(clock, 5, controller.signal)
    controller.abort('stop')
    await expect(slept).rejects.toBe('stop')
    expect(timers).toEqual([])
  })

  it('does not begin under a signal that has aborted', async () => {
    const { clock, timers } = manualClock()
    await expect(sleep(clock, 5, AbortSignal.abort('stop'))).rejects.toBe('stop')
    expect(timers).toEqual([])
  })

  it('needs no signal', async () => {
    await sleep(systemClock, 0)
  })
})

describe('withinTime', () => {
  it('gives the value or the error of work that is done in time, and cancels its timer', async () => {
    const { clock, timers } = manualClock()
    expect(await withinTime(clock, 5, Promise.resolve('done'), () => 'late')).toBe('done')
    await expect(withinTime(clock, 5, Promise.reject('broken'), () => 'late')).rejects.toBe('broken')
    expect(timers).toEqual([])
  })

  it('gives what `late` returns, and ignores a failure that comes after it', async () => {
    const { clock, timers } = manualClock()
    const { promise, reject } = Promise.withResolvers<string>()
    const waited = withinTime(clock, 5, promise, () => 'late')
    timers[0]?.()
    expect(await waited).toBe('late')
    reject(new Error('too late'))
  })

  it('rejects with what `late` throws', async () => {
    const { clock, timers } = manualClock()
    const late = () => {
      throw new Error('took too long')
    }
    const waited = withinTime(clock, 5, new Promise(() => {}), late)
    timers[0]?.()
    await expect(waited).rejects.toThrow('took too long')
  })
})

describe('untilAborted', () => {
  it('gives the value or the error of the work and removes its listener', async () => {
    const { signal, left } = countedSignal()
    expect(await untilAborted(signal, Promise.resolve('done'))).toBe('done')
    await expect(untilAborted(signal, Promise.reject('broken'))).rejects.toBe('broken')
    await Promise.resolve()
    expect(left()).toBe(0)
  })

  it.each(['before', 'while'] as const)('rejects with the reason of an abort that comes %s it waits', async (when) => {
    const { controller, signal, left } = countedSignal()
    const { promise, resolve } = Promise.withResolvers<string>()
    if (when === 'before') controller.abort('stop')
    const given: string[] = []
    const waited = untilAborted(signal, promise, (late) => given.push(late))
    controller.abort('stop')
    await expect(waited).rejects.toBe('stop')
    expect(left()).toBeLessThanOrEqual(0)
    resolve('late')
    await promise
    expect(given).toEqual(['late'])
  })

  it('ignores a failure that comes after the abort', async () => {
    const { promise, reject } = Promise.withResolvers<string>()
    await expect(untilAborted(AbortSignal.abort('stop'), promise)).rejects.toBe('stop')
    reject(new Error('too late'))
  })
})
