import { nextMacrotask } from '@troupe/kernel/kit'
import { describe, expect, it } from 'vitest'
import type { Once } from './engine.ts'
import { EntryLog } from './entry-log.ts'

/** An engine that has recorded these texts, and fails if it is asked for two things at a time. */
class Recorder {
  readonly texts: string[]
  #at = 0
  #busy = false

  constructor(texts: readonly string[] = []) {
    this.texts = [...texts]
  }

  readonly once: Once = async (work) => {
    if (this.#busy) throw new Error('asked for two things at a time')
    this.#busy = true
    if (this.#at === this.texts.length) this.texts.push(await work())
    this.#busy = false
    return this.texts[this.#at++] as string
  }
}

const isEnd = (entry: { readonly end?: true }) => entry.end === true

describe('the entries of a run', () => {
  it('come back in order, and then those that are added', async () => {
    const recorder = new Recorder(['{"n":1}', '{"n":2}'])
    const log = new EntryLog(recorder.once, 100)
    expect(await log.recorded(isEnd)).toEqual([{ n: 1 }, { n: 2 }])
    await log.add({ n: 3 })
    expect(recorder.texts).toEqual(['{"n":1}', '{"n":2}', '{"n":3}'])
  })

  it('are recorded one at a time, however many are added at once', async () => {
    const recorder = new Recorder()
    const log = new EntryLog(recorder.once, 100)
    await log.recorded(isEnd)
    await Promise.all([1, 2, 3, 4].map((n) => log.add({ n })))
    await log.addLast({ end: true })
    expect(recorder.texts).toEqual(['{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}', '{"end":true}'])
  })

  it('end with the last one, after which the engine is asked for nothing more', async () => {
    const recorder = new Recorder(['{"n":1}', '{"end":true}', '{"n":2}'])
    expect(await new EntryLog(recorder.once, 100).recorded(isEnd)).toEqual([{ n: 1 }, { end: true }])
    const again = new Recorder(['{"n":1}', '{"end":true}'])
    expect(await new EntryLog(again.once, 100).recorded(isEnd)).toEqual([{ n: 1 }, { end: true }])
    expect(again.texts).toHaveLength(2)
  })

  it('have one last: a caller that adds another one waits for ever', async () => {
    const recorder = new Recorder()
    const log = new EntryLog(recorder.once, 100)
    await log.recorded(isEnd)
    const added: string[] = []
    const first = log.addLast({ handover: true }).then(() => added.push('handover'))
    void log.addLast({ end: true }).then(() => added.push('end'))
    void log.add({ n: 1 }).then(() => added.push('step'))
    await first
    for (let turn = 0; turn < 5; turn++) await nextMacrotask()
    expect([added, recorder.texts]).toEqual([['handover'], ['{"handover":true}']])
  })

  it('are cut into pieces that an engine takes, and put together again', async () => {
    const recorder = new Recorder()
    const log = new EntryLog(recorder.once, 10_000_000)
    await log.recorded(isEnd)
    const large = { text: `"${'ü\\'.repeat(1_300_000)}` }
    await log.add(large)
    await log.add({ n: 1 })
    await log.addLast({ ...large, end: true })
    expect(Math.max(...recorder.texts.map(({ length }) => length))).toBeLessThanOrEqual(1_048_577)
    expect(recorder.texts.length).toBeGreaterThan(6)
    const again = new EntryLog(new Recorder(recorder.texts).once, 1)
    expect(await again.recorded(isEnd)).toEqual([large, { n: 1 }, { ...large, end: true }])
  })

  it('may break off inside one that is in pieces, and it is recorded anew', async () => {
    const recorder = new Recorder(['{"n":1}', '+{"n":'])
    const log = new EntryLog(recorder.once, 100)
    expect(await log.recorded(isEnd)).toEqual([{ n: 1 }])
    await log.add({ n: 2 })
    expect(await new EntryLog(new Recorder(recorder.texts).once, 100).recorded(isEnd)).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('are refused with a code above the limit, and the next one is recorded', async () => {
    const recorder = new Recorder()
    const log = new EntryLog(recorder.once, 20)
    await log.recorded(isEnd)
    await expect(log.add({ text: 'x'.repeat(20) })).rejects.toMatchObject({
      code: 'STEP_TOO_LARGE',
      details: { length: 31, maxChars: 20 },
    })
    await log.add({ n: 1 })
    expect(recorder.texts).toEqual(['{"n":1}'])
  })

  it('reject a caller that adds one if the engine fails', async () => {
    const log = new EntryLog(async (work) => {
      await work()
      throw new Error('the engine is gone')
    }, 100)
    await log.recorded(isEnd)
    await expect(log.add({ n: 1 })).rejects.toThrow('the engine is gone')
  })
})
