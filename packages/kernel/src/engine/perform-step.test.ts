import { describe, expect, it, vi } from 'vitest'
import { type Agent, JOURNAL, type Journal, type Json, KernelError, type RunContext, say } from '../index.ts'
import { attempt, MemoryJournal } from '../journal/journal.fixture.ts'
import { createRunContext, runNested, startRun } from '../run.ts'

/** A context at the start of the run `r`, on a journal. */
function contextOn(journal: MemoryJournal, attemptNumber = 1): RunContext {
  return createRunContext({ runId: 'r' }).with(JOURNAL, attempt(journal.once, { attempt: attemptNumber }))
}

const refused = () => Promise.reject(new Error('must not be done again'))

describe('perform', () => {
  it('is the work itself without a journal', async () => {
    const ctx = createRunContext()
    const error = new Error('no')
    const map = new Map()
    expect(await ctx.perform('map', async () => map as unknown as Json)).toBe(map)
    await expect(ctx.perform('fail', () => Promise.reject(error))).rejects.toBe(error)
  })

  it.each<[string, Json]>([
    ['text', 'EUR'],
    ['a list', [1, { two: 2 }]],
    ['null', null],
    ['an object that looks like a record', { error: { code: 'NO', message: 'no' }, thrown: 'no', value: 1 }],
  ])('keeps %s', async (_, value) => {
    const journal = new MemoryJournal()
    expect(await contextOn(journal).perform('read', async () => value)).toEqual(value)
    expect(await contextOn(new MemoryJournal(journal.batches), 2).perform('read', refused)).toEqual(value)
  })

  it('keeps that work gave nothing', async () => {
    const journal = new MemoryJournal()
    const sent = vi.fn(async () => undefined)
    expect(await contextOn(journal).perform('send', sent)).toBeUndefined()
    expect(await contextOn(new MemoryJournal(journal.batches), 2).perform('send', refused)).toBeUndefined()
    expect(sent).toHaveBeenCalledOnce()
  })

  it('keeps an error with its code, message, details and whether a retry may help', async () => {
    const journal = new MemoryJournal()
    const error = new KernelError('RATE_LIMITED', 'bank: too many', { retryable: true, details: { retryAfterMs: 5 } })
    await expect(contextOn(journal).perform('read', () => Promise.reject(error))).rejects.toBe(error)
    const again = contextOn(new MemoryJournal(journal.batches), 2).perform('read', async () => 'other')
    await expect(again).rejects.toMatchObject({ ...error.toJSON() })
    expect(KernelError.is(await again.catch((thrown: unknown) => thrown))).toBe(true)
  })

  it('passes on the error of an application as it is, and keeps its code and message', async () => {
    const journal = new MemoryJournal()
    const error = Object.assign(new Error('declined'), { code: 'PAYMENT_DECLINED' })
    await expect(contextOn(journal).perform('pay', () => Promise.reject(error))).rejects.toBe(error)
    const again = contextOn(new MemoryJournal(journal.batches), 2).perform('pay', async () => 1)
    await expect(again).rejects.toMatchObject({ code: 'PAYMENT_DECLINED', message: 'declined' })
  })

  it.each([[new TypeError('declined')], ['declined']])(
    'keeps the message of an error without a code, which it then has neither (%#)',
    async (error) => {
      const journal = new MemoryJournal()
      await expect(contextOn(journal).perform('pay', () => Promise.reject(error))).rejects.toBe(error)
      const again = contextOn(new MemoryJournal(journal.batches), 2).perform('pay', async () => 1)
      const thrown = await again.catch((caught: unknown) => caught)
      expect([error, thrown].map((one) => KernelError.from(one, 'HANDLER_FAILED').toJSON())).toEqual([
        { code: 'HANDLER_FAILED', message: 'declined' },
        { code: 'HANDLER_FAILED', message: 'declined' },
      ])
    },
  )

  it('keeps an error that is thrown before a promise is returned', async () => {
    const journal = new MemoryJournal()
    const work = () => {
      throw new KernelError('NO', 'no')
    }
    await expect(contextOn(journal).perform('read', work)).rejects.toMatchObject({ code: 'NO' })
    const again = contextOn(new MemoryJournal(journal.batches), 2).perform('read', async () => 1)
    await expect(again).rejects.toMatchObject({ code: 'NO' })
  })

  it('keeps nothing of work that failed after its run was stopped', async () => {
    const journal = new MemoryJournal()
    const controller = new AbortController()
    const agent: Agent = {
      name: 'a',
      description: '',
      recordsSteps: true,
      async *run(_input, ctx) {
        const work = async () => {
          controller.abort()
          ctx.throwIfAborted()
        }
        await ctx.perform('read', work)
        yield* say(ctx, 'done')
      },
    }
    const prepare = (ctx: RunContext) => ctx.with(JOURNAL, attempt(journal.once))
    const run = startRun(agent, 'Hi', { runId: 'r', signal: controller.signal, prepare })
    await expect(run).rejects.toMatchObject({ code: 'ABORTED' })
    expect(journal.entries).toEqual([])
    expect(await contextOn(new MemoryJournal(journal.batches), 2).perform('read', async () => 1)).toBe(1)
  })

  it('keeps the reason of an abort that stopped the work and not the run', async () => {
    const journal = new MemoryJournal()
    const controller = new AbortController()
    const ctx = contextOn(journal).derive({ signal: controller.signal })
    const work = async () => {
      controller.abort(new KernelError('TIMEOUT', 'agent a: not done within 5 ms'))
      throw new DOMException('aborted', 'AbortError')
    }
    await expect(ctx.perform('read', work)).rejects.toMatchObject({ name: 'AbortError' })
    const again = contextOn(new MemoryJournal(journal.batches), 2).perform('read', refused)
    await expect(again).rejects.toMatchObject({ code: 'TIMEOUT', message: 'agent a: not done within 5 ms' })
  })

  it('keeps nothing of work that asked a person', async () => {
    const journal = new MemoryJournal()
    const asked = new KernelError('INTERRUPTED', 'waiting')
    await expect(contextOn(journal).perform('ask', () => Promise.reject(asked))).rejects.toBe(asked)
    expect(journal.entries).toEqual([])
  })

  it.each([
    [new Date(0), 'its root'],
    [{ at: [new Map()] }, '.at[0]'],
    [() => 1, 'its root'],
  ])('refuses a value that is not JSON, and keeps that it did (%#)', async (value, where) => {
    const journal = new MemoryJournal()
    const first = contextOn(journal).perform('read', async () => value as unknown as Json)
    const wrong = { code: 'VALIDATION_FAILED', message: expect.stringContaining('r/read#1 gave a value') }
    await expect(first).rejects.toMatchObject(wrong)
    await expect(first).rejects.toThrow(`at ${where}`)
    await expect(contextOn(new MemoryJournal(journal.batches), 2).perform('read', refused)).rejects.toMatchObject(wrong)
  })

  it.each<[unknown, unknown]>([
    ['', refused],
    [undefined, refused],
    ['read', undefined],
  ])('needs a name and a function (%#)', async (name, work) => {
    const journal = new MemoryJournal()
    for (const ctx of [createRunContext(), contextOn(journal)]) {
      await expect(ctx.perform(name as string, work as never)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    }
    expect(journal.batches).toEqual([])
  })

  it('names its step after its place in the run, its name and how often it was asked for there', async () => {
    const journal = new MemoryJournal()
    const ctx = contextOn(journal)
    const inner = ctx.derive({ step: 'agent:1' })
    const work = async () => 1
    await ctx.perform('read', work)
    await inner.perform('read', work)
    await ctx.perform('read', work)
    await inner.perform('rate', work)
    expect(journal.steps).toEqual(['read#1', 'agent:1/read#1', 'read#2', 'agent:1/rate#1'])
  })

  it('does not use up the ids of its step', async () => {
    const ctx = contextOn(new MemoryJournal())
    await ctx.perform('read', async () => 1)
    expect(ctx.ids.next()).toBe(createRunContext({ runId: 'r' }).ids.next())
  })

  it('does plain work where the journal was taken away, as inside a recorded call', async () => {
    const journal = new MemoryJournal()
    const ctx = contextOn(journal).with(JOURNAL, undefined)
    expect(await ctx.perform('read', async () => 1)).toBe(1)
    expect(journal.batches).toEqual([])
  })

  it('belongs to its own run where a run is nested in another', async () => {
    const reader = (name: string): Agent => ({
      name,
      description: '',
      recordsSteps: true,
      async *run(_input, ctx) {
        yield* say(ctx, await ctx.perform('read', async () => `read by ${name}`))
      },
    })
    const outer: Agent = {
      name: 'outer',
      description: '',
      recordsSteps: true,
      async *run(input, ctx) {
        const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
        const inside = ctx.derive({ step: 'tool:0:0', call })
        const runs = [reader('first'), reader('second')].map((agent) => runNested(agent, input, inside))
        for (const { text } of await Promise.all(runs)) yield* say(ctx, text)
      },
    }
    const texts: string[][] = []
    const journal = new MemoryJournal()
    const play = async (log: Journal) => {
      const settings = { runId: 'r', prepare: (ctx: RunContext) => ctx.with(JOURNAL, log) }
      const { messages } = await startRun(outer, { messages: [] }, settings)
      texts.push(messages.map(({ content }) => String(content)))
    }
    await play(attempt(journal.once))
    expect(journal.steps.toSorted()).toEqual(['tool:0:0.2/read#1', 'tool:0:0/read#1'])
    const recorded = journal.batches.map((batch) => batch.replaceAll('read by', 'recorded of'))
    await play(attempt(new MemoryJournal(recorded).once, { attempt: 2 }))
    expect(texts).toEqual([
      ['read by first', 'read by second'],
      ['recorded of first', 'recorded of second'],
    ])
  })
})
