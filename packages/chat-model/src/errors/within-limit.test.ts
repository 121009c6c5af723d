import { type ChatModel, type KernelError, withBeforeModelRewriteHistory } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  calling,
  expectSound,
  idle,
  never,
  noUnhandledRejection,
  type Options,
  timed,
  tool,
} from '../chat-model.fixture.ts'

beforeEach(noUnhandledRejection)

describe('time limits', () => {
  const deaf: ChatModel = { name: 'deaf', stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => never }) }) }
  const listening = scriptedModel([{ text: 'Half', hang: 'mid' }], { repeat: true })

  test.each([
    ['ignores the signal', deaf],
    ['listens to it', listening],
  ])('of one attempt of a model call, for a model that %s', async (_, model) => {
    const { pass, running, clock } = timed([], { model, modelTimeoutMs: 50, retry: false })
    await pass(50)
    await pass(1_000)
    const finished = await running
    expect(finished.errors).toMatchObject([{ code: 'TIMEOUT' }])
    expect([finished.end?.outcome, clock.pending]).toEqual(['failed', 0])
    expectSound(finished)
  })

  test('a timed-out attempt may be tried again', async () => {
    const retry = ({ code }: KernelError) => (code === 'TIMEOUT' ? 0 : undefined)
    const { pass, running, clock } = timed([{ hang: 'before' }, 'Hi.'], { modelTimeoutMs: 50, retry })
    await pass(50)
    await pass(0)
    expect([(await running).end?.text, clock.pending]).toEqual(['Hi.', 0])
  })

  test('of one tool call: the model sees it, and the tool’s signal aborts', async () => {
    const signals: AbortSignal[] = []
    const stuck = tool('stuck', (_, ctx) => {
      signals.push(ctx.signal)
      return never
    })
    const { pass, running, clock } = timed([calling('stuck', 'ok'), 'Done.'], {
      tools: [stuck, tool('ok')],
      toolTimeoutMs: 50,
    })
    await pass(49)
    expect(signals[0]?.aborted).toBe(false)
    await pass(1)
    const { toolEnds, end } = await running
    expect(toolEnds.find(({ callId }) => callId === 'stuck')).toMatchObject({
      error: { code: 'TIMEOUT' },
      status: 'failed',
    })
    expect([signals[0]?.aborted, end?.text, clock.pending]).toEqual([true, 'Done.', 0])
  })

  test('of a tool that streams for ever', async () => {
    let closed = false
    const forever = tool('forever', undefined, {
      async *stream() {
        try {
          for (;;) {
            yield '.'
            await idle()
          }
        } finally {
          closed = true
        }
      },
    })
    const { pass, running } = timed([calling('forever'), 'Done.'], { tools: [forever], toolTimeoutMs: 50 })
    await pass(50)
    const { toolEnds } = await running
    await idle()
    expect([toolEnds[0]?.error?.code, closed]).toEqual(['TIMEOUT', true])
  })

  test.each([
    ['a model that ignores the signal', { model: deaf }],
    ['a tool that ignores the signal', { model: scriptedModel([calling('t')]), tools: [tool('t', () => never)] }],
    [
      'a handler that never settles',
      { model: scriptedModel(['Hi.']), handlers: [withBeforeModelRewriteHistory(() => never)] },
    ],
  ] as [string, Options][])('of a whole run, in %s', async (_, options) => {
    const { pass, running, clock } = timed([], { ...options, runTimeoutMs: 50 })
    await pass(50)
    await pass(1_000)
    const finished = await running
    expect([finished.end?.outcome, finished.errors.map(({ code }) => code)]).toEqual(['failed', ['TIMEOUT']])
    expect(clock.pending).toBe(0)
    expectSound(finished)
  })

  test('leave no timer behind in a run that keeps them', async () => {
    const limits = { modelTimeoutMs: 50, toolTimeoutMs: 50, runTimeoutMs: 50 }
    const { running, clock } = timed([calling('t'), 'Done.'], { ...limits, tools: [tool('t')] })
    expect([(await running).end?.outcome, clock.pending]).toEqual(['complete', 0])
  })
})
