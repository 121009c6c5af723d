import type { Journal } from '@troupe/kernel'
import { nextMacrotask } from '@troupe/kernel/kit'
import { describe, expect, it, vi } from 'vitest'
import { StepGate } from './held-journal.ts'

/** A journal that records at once what a step gives. */
const recording: Journal = { perform: async (_, work) => work() }

const settledSoon = async (work: Promise<unknown>) => {
  let settled = false
  void work.finally(() => {
    settled = true
  })
  for (let turn = 0; turn < 5; turn++) await nextMacrotask()
  return settled
}

describe('the gate of an attempt', () => {
  it('lets steps pass', async () => {
    const gate = new StepGate(new AbortController().signal)
    expect(await gate.around(recording).perform('a', async () => 1)).toBe(1)
  })

  it('waits for steps that are under way, and lets no more begin', async () => {
    const gate = new StepGate(new AbortController().signal)
    const journal = gate.around(recording)
    const first = Promise.withResolvers<number>()
    const begun = journal.perform('a', () => first.promise)
    const held = gate.hold()
    const work = vi.fn(async () => 2)
    const later = journal.perform('b', work)
    expect([await settledSoon(held), await settledSoon(later), work.mock.calls]).toEqual([false, false, []])
    first.resolve(1)
    await held
    expect(await begun).toBe(1)
    expect([await settledSoon(later), work.mock.calls]).toEqual([false, []])
  })

  it('does not wait for a step that was asked for and has not begun', async () => {
    const gate = new StepGate(new AbortController().signal)
    const never: Journal = { perform: () => new Promise(() => undefined) }
    void gate.around(never).perform('a', async () => 1)
    expect(await settledSoon(gate.hold())).toBe(true)
  })

  it('lets nothing begin once the attempt was given up, not even a step whose turn comes then', async () => {
    const gone = new AbortController()
    const gate = new StepGate(gone.signal)
    let begin = () => {}
    const late: Journal = {
      perform: (_, work) =>
        new Promise((resolve, reject) => {
          begin = () => void work().then(resolve, reject)
        }),
    }
    const work = vi.fn(async () => 1)
    const step = gate.around(late).perform('a', work)
    gone.abort()
    begin()
    expect([await settledSoon(step), work.mock.calls]).toEqual([false, []])
  })
})
