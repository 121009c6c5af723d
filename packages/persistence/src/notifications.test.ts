import { describe, expect, it, vi } from 'vitest'
import { ANN, calm, greeter, recordsHarness, talker } from './persistence.fixture.ts'

describe('notifications', () => {
  it('come in the order of the message, each with the offset of its text', async () => {
    const { run, messages, notifications } = await recordsHarness()
    await run(talker('Hel', 'lo'))
    await messages.flush()
    const common = { messageId: 'run-1', ref: ANN, threadId: 't1', seq: 1 }
    expect(notifications).toEqual([
      { ...common, type: 'init', status: 'generating', text: '', startAt: 0 },
      { ...common, type: 'continue', status: 'generating', text: 'Hello', startAt: 0 },
      { ...common, type: 'done', status: 'complete', text: 'Hello', startAt: 0 },
    ])
  })

  it('come after the write they are about, and not without it', async () => {
    const { run, store, messages, notifications } = await recordsHarness()
    store.fault = 'late'
    await run(greeter)
    await calm()
    expect(notifications).toEqual([])
    store.release()
    await calm()
    expect(notifications.map(({ type }) => type)).toEqual(['init'])
    store.fault = undefined
    store.release()
    await messages.flush()
    expect(notifications.map(({ type }) => type)).toEqual(['init', 'continue', 'done'])
  })

  it('a receiver that throws, rejects or hangs does no harm and is reported once', async () => {
    const receivers = {
      throws: () => {
        throw new Error('test: no')
      },
      rejects: () => Promise.reject(new Error('test: no')),
      hangs: () => new Promise<void>(() => undefined),
    }
    for (const [name, receiver] of Object.entries(receivers)) {
      const { run, store, messages, clock, reports } = await recordsHarness({ publish: receiver, onDone: receiver })
      await run(talker('a', 'b'))
      await run(talker('c'))
      await messages.flush()
      await calm()
      clock.advance(20_000)
      expect(
        (await store.records.runs(ANN)).map(({ status }) => status),
        name,
      ).toEqual(['complete', 'complete'])
      expect(reports.map(({ code, message }) => [code, message.split(':')[0]]).sort(), name).toEqual([
        ['CALLBACK_FAILED', 'onDone'],
        ['CALLBACK_FAILED', 'publish'],
      ])
      expect(clock.pending, name).toBe(0)
    }
  })

  it('a receiver that takes its time is not reported while it comes to an end', async () => {
    const waiting: (() => void)[] = []
    const { run, messages, clock, reports } = await recordsHarness({
      publish: () => new Promise<void>((resolve) => void waiting.push(resolve)),
    })
    await run(greeter)
    await messages.flush()
    clock.advance(9_000)
    for (const resolve of waiting.splice(0)) resolve()
    await run(greeter)
    await messages.flush()
    await calm()
    clock.advance(2_000)
    await calm()
    expect(reports).toEqual([])
    for (const resolve of waiting) resolve()
    await calm()
    expect(clock.pending).toBe(0)
  })

  it('a report that throws breaks nothing, and its error is on the console', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    try {
      const broken = () => {
        throw new Error('test: no')
      }
      const { run, store, messages } = await recordsHarness({ publish: broken, report: broken })
      await run(greeter)
      await messages.flush()
      expect(await store.records.runs(ANN)).toMatchObject([{ status: 'complete' }])
      expect(printed.mock.calls).toMatchObject([[{ code: 'CALLBACK_FAILED' }]])
    } finally {
      printed.mockRestore()
    }
  })
})
