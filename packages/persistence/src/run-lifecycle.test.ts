import { describe, expect, it } from 'vitest'
import { messageLifecycle } from './message-lifecycle.ts'
import { ANN, calm, greeter, recordsHarness, talker } from './persistence.fixture.ts'
import { runLifecycle } from './run-lifecycle.ts'

const run = (runId = 'by-hand') => ({ ref: ANN, runId, agentName: 'old' })

describe('runLifecycle', () => {
  it('向后兼容性: code without callbacks keeps the same records by begin, append and finish', async () => {
    const { store, clock, notifications, done } = await recordsHarness()
    const lifecycle = runLifecycle({
      store,
      clock,
      publish: (notification) => void notifications.push(notification),
      onDone: (...args) => void done.push(args),
    })
    const live = lifecycle.begin(run())
    live.append('Hel')
    live.append('lo')
    live.usage('model-1', { inputTokens: 3, outputTokens: 2 })
    live.finish()
    live.finish({ outcome: 'cancelled' })
    live.append('!')
    await lifecycle.flush()
    expect(await store.records.runs(ANN)).toMatchObject([
      {
        runId: 'by-hand',
        agentName: 'old',
        status: 'complete',
        text: 'Hello',
        usage: { inputTokens: 3, outputTokens: 2 },
      },
    ])
    expect(notifications.map(({ type }) => type)).toEqual(['init', 'continue', 'done'])
    expect(done).toHaveLength(1)
    await lifecycle[Symbol.asyncDispose]()
    expect(clock.pending).toBe(0)
  })

  it('a run that ends with an error has failed, with the text there is', async () => {
    const { store } = await recordsHarness()
    const lifecycle = runLifecycle({ store })
    const live = lifecycle.begin(run())
    live.append('Half')
    live.finish({ error: { code: 'MODEL_FAILED', message: 'gone' } })
    await lifecycle.flush(ANN)
    expect(await store.records.runs(ANN)).toMatchObject([
      { status: 'failed', text: 'Half', error: { code: 'MODEL_FAILED' } },
    ])
  })

  it('refuses a run without an id, a name or a thread', () => {
    const lifecycle = runLifecycle({ store: { records: { apply: async () => [] } } as never })
    for (const wrong of [
      { ...run(), runId: '' },
      { ...run(), agentName: '' },
      { ...run(), ref: {} as never },
    ]) {
      expect(() => lifecycle.begin(wrong)).toThrow(expect.objectContaining({ code: 'VALIDATION_FAILED' }))
    }
  })
})

describe('mode', () => {
  it('off does nothing, in callbacks and by hand', async () => {
    const { run: start, store, messages, clock } = await recordsHarness({ mode: 'off' })
    await start(greeter)
    const byHand = runLifecycle({ store, mode: 'off' })
    const live = byHand.begin(run())
    live.append('x')
    live.usage('m', { inputTokens: 1, outputTokens: 1 })
    live.finish()
    await byHand.flush()
    await messages.flush()
    expect(messages.run).toBeUndefined()
    expect(store.attempts).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it('shadow writes, publishes nothing, calls no onDone, and is quiet while nothing differs', async () => {
    const { run: start, store, messages, notifications, done, reports } = await recordsHarness({ mode: 'shadow' })
    await start(talker('Hel', 'lo'))
    await messages.flush()
    expect(await store.records.runs(ANN)).toMatchObject([{ status: 'complete', text: 'Hello' }])
    expect([notifications, done, reports]).toEqual([[], [], []])
  })

  it('shadow reports the differences to a record that another writer has made of the same run', async () => {
    const { run: start, store, messages, reports } = await recordsHarness({ mode: 'shadow' })
    const old = runLifecycle({ store })
    const live = old.begin(run('run-1'))
    live.append('Other')
    live.finish()
    await old.flush()
    await start(talker('Hel', 'lo'))
    await messages.flush()
    await calm()
    expect(reports.map(({ code }) => code)).toEqual(['RECORD_REFUSED'])
    expect(reports[0]?.message).toContain('run-1')
  })

  it('is checked, with the other options, when the lifecycle is made', () => {
    const store = { records: { apply: async () => [] } } as never
    for (const wrong of [
      { store, mode: 'loud' as never },
      { store: {} as never },
      { store, write: { maxCommands: 0 } },
      { store, write: { delayMs: -1 } },
      { store, write: { retryMs: Number.NaN } },
    ]) {
      expect(() => messageLifecycle(wrong)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    }
  })
})
