import { beforeEach, describe, expect, test } from 'vitest'
import type { Agent, AgentEvent, AgentInput } from '../index.ts'
import { notJson } from '../index.ts'
import { createRunContext, observe, runNested, startRun } from '../run.ts'
import { collect, noUnhandledRejection } from '../stream/stream.fixture.ts'
import { action, agentOf, callOf, input, quiet, talker, toolStart } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

describe('a run', () => {
  test.each([undefined, null, 'messages', {}, { messages: 'hello' }])(
    'of no messages is CONFIG_INVALID: %o',
    (start) => {
      const invalid = {
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('run of a: expected { messages: [...] }'),
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

  test('of an agent with one thing to say is told like this', async () => {
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

  test('tells nothing but plain JSON, nested, branched, failed or interrupted', async () => {
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

describe('an agent that observes itself', () => {
  const self = (run: Agent['run']): Agent => ({ name: 'self', description: 'self', observesItself: true, run })

  test('and says nothing at all is complete', async () => {
    const run = startRun({ ...quiet('self', async () => undefined), observesItself: true }, input)
    expect((await collect(run)).map(({ type }) => type)).toEqual(['run-start', 'run-end'])
    expect(await run).toMatchObject({ outcome: 'complete', text: '' })
  })

  test('cannot be heard through its context after the run', async () => {
    const heard: AgentEvent[] = []
    const onPart = (_: unknown, event: AgentEvent) => void heard.push(event)
    const late: (() => void | Promise<void>)[] = []
    const agent = self((start, ctx) => {
      late.push(() => ctx.emit('late', 1))
      return observe(talker('child'), start, ctx)
    })
    await startRun(agent, input, { callbacks: [{ name: 'parts', run: { onPart } }] })
    const before = heard.length
    for (const emit of late) await expect(emit()).rejects.toMatchObject({ code: 'ABORTED' })
    expect([late.length, heard.length]).toEqual([1, before])
  })

  test('has its own word on how it ended', async () => {
    const child = quiet('child', async () => {
      throw new RangeError('first')
    })
    const agent = self(async function* (start, ctx) {
      for await (const _ of observe(child, start, ctx));
      yield { type: 'agent-end', outcome: 'failed', error: { code: 'MINE', message: 'mine: second' } }
    })
    await expect(startRun(agent, input)).rejects.toMatchObject({ code: 'MINE', message: 'mine: second' })
  })
})
