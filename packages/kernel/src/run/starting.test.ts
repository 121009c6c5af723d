import { beforeEach, describe, expect, test } from 'vitest'
import type { AgentInput } from '../index.ts'
import { notJson } from '../kit.ts'
import { createRunContext, observe, runNested, startRun } from '../run.ts'
import { collect, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'
import { action, agentOf, callOf, input, talker, toolStart } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('a run', () => {
  test.each([undefined, null, 7, ['hello'], {}, { messages: 'hello' }])(
    'of no messages is CONFIG_INVALID: %o',
    (start) => {
      const invalid = {
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('run of a: expected a text or { messages: [...] }'),
      }
      expect(() => startRun(talker('a'), start as AgentInput)).toThrow(expect.objectContaining(invalid))
    },
  )

  test.each(['', 7])('under the id %o is CONFIG_INVALID', (runId) => {
    const invalid = expect.objectContaining({ code: 'CONFIG_INVALID' })
    expect(() => startRun(talker('a'), input, { runId: runId as string })).toThrow(invalid)
  })

  test('has a thread of its own where it is given none', () => {
    const session = { app: 'standalone', user: 'standalone', threadId: 'R' }
    expect(createRunContext({ runId: 'R' }).session).toEqual(session)
  })

  test('is known by its id before it begins', () => {
    expect(startRun(talker('a'), input, { runId: 'R' }).runId).toBe('R')
    expect(startRun(talker('a'), input).runId).not.toBe(startRun(talker('a'), input).runId)
  })

  test('with a signal or a clock that throws is rejected, awaited and read', async () => {
    const signal = { aborted: false } as AbortSignal
    const clock = { now: () => 0, after: () => raise(new Error('no time')) }
    for (const options of [{ signal }, { clock, timeoutMs: 5 }]) {
      await expect(Promise.resolve(startRun(talker('a'), input, options))).rejects.toThrow()
      await expect(collect(startRun(talker('a'), input, options))).rejects.toThrow()
    }
  })

  test('of an agent that says one thing has these events', async () => {
    const stamp = { runId: 'R', agentName: 'a', runPath: [] }
    const usage = { inputTokens: 0, outputTokens: 0 }
    expect(await collect(startRun(talker('a', 'hello'), input, { runId: 'R' }))).toStrictEqual([
      { type: 'run-start', ...stamp },
      { type: 'agent-start', ...stamp },
      { type: 'message-start', ...stamp, messageId: 'R/#1' },
      { type: 'text-delta', ...stamp, messageId: 'R/#1', delta: 'hello' },
      {
        type: 'message-end',
        ...stamp,
        message: { id: 'R/#1', role: 'assistant', content: 'hello', agentName: 'a' },
      },
      { type: 'agent-end', ...stamp, outcome: 'complete' },
      { type: 'run-end', ...stamp, outcome: 'complete', text: 'hello', usage },
    ])
  })

  test('has only plain JSON in its events, nested, branched, failed or interrupted', async () => {
    const inner = agentOf('inner', async function* (ctx) {
      ctx.state.set('k', 1)
      yield toolStart
      yield action
      throw new RangeError('broken')
    })
    const outer = agentOf('outer', async function* (ctx) {
      await ctx.emit('note', [null])
      await runNested(inner, input, callOf(ctx, 0)).catch(() => undefined)
      yield* observe(talker('branch'), input, ctx.derive({ step: 'branch:0' }))
      await ctx.interrupt({ reason: 'input' })
    })
    const events = await collect(startRun(outer, input, { canInterrupt: true }))
    expect(events.at(-1)).toMatchObject({ outcome: 'interrupted' })
    for (const event of events) expect([event, notJson(event)]).toEqual([event, undefined])
    expect(events.filter(({ type }) => type === 'custom')).toMatchObject([{ name: 'note', data: [null] }])
  })
})
