import { type AgentHandler, type Tool, withInvokableToolWrapper } from '@troupe/kernel'
import { runNested } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  brief,
  calling,
  conversation,
  noUnhandledRejection,
  type Options,
  runAgent,
  streaming,
  tool,
  user,
} from '../chat-model.fixture.ts'
import { chatModelAgent } from '../index.ts'

beforeEach(noUnhandledRejection)

describe('13: ctx.interrupt inside a tool', () => {
  const asking = (log: string[], more: Partial<Tool> = {}) =>
    tool(
      'ask',
      async (_, ctx, call) => {
        log.push(call.idempotencyKey)
        return `got ${await ctx.interrupt({ reason: 'input', message: 'Your name?' })}`
      },
      more,
    )

  test('ends the call the first time; on resume it is called again from its start and gets the answer', async () => {
    const log: string[] = []
    const talk = conversation([calling('ask'), 'Done.'], { tools: [asking(log)] })
    const { end } = await talk.next()
    expect(end).toMatchObject({
      outcome: 'interrupted',
      interrupts: [
        { id: expect.stringMatching(/^ask#/), reason: 'input', message: 'Your name?', callId: 'ask', agentName: 'a' },
      ],
    })
    const { toolEnds } = await talk.next({ ask: 'Ann' })
    expect(toolEnds).toMatchObject([{ callId: 'ask', content: 'got Ann', status: 'complete' }])
    expect(talk.started()).toEqual(['ask'])
    expect(talk.model.requests).toHaveLength(2)
  })

  test('the idempotency key of a call is the same at every attempt, also in a run of another id', async () => {
    const log: string[] = []
    const talk = conversation([calling('ask'), 'Done.'], { tools: [asking(log)] })
    await talk.next()
    await talk.next({ ask: 'Ann' })
    expect(log).toEqual([log[0], log[0]])
  })

  const swallowing: Record<string, Options> = {
    'a catch': { tools: [tool('ask', (_, ctx) => ctx.interrupt<string>({ reason: 'input' }).catch(() => 'whatever'))] },
    'a catch that fails otherwise': {
      tools: [
        tool('ask', (_, ctx) =>
          ctx.interrupt<string>({ reason: 'input' }).catch(() => {
            throw new Error('other')
          }),
        ),
      ],
    },
    'onError throw': { tools: [asking([], { onError: 'throw' })] },
    'a wrap that tries again': {
      tools: [asking([])],
      handlers: [withInvokableToolWrapper((ctx, input, next) => next(ctx, input).catch(() => next(ctx, input)))],
    },
    'a wrap that makes something else of it': {
      tools: [asking([])],
      handlers: [
        withInvokableToolWrapper((ctx, input, next) => next(ctx, input).catch(() => ({ content: 'whatever' }))),
      ],
    },
  }
  test.each(Object.entries(swallowing))('cannot be swallowed by %s', async (_, options) => {
    const talk = conversation([calling('ask'), 'Done.'], options)
    const { end, toolEnds } = await talk.next()
    expect([end?.outcome, end?.interrupts?.[0]?.callId, toolEnds]).toEqual(['interrupted', 'ask', []])
    const second = await talk.next({ ask: 'Ann' })
    expect([second.end?.text, second.toolEnds.length]).toEqual(['Done.', 1])
    expect(talk.started()).toEqual(['ask'])
  })

  test('several questions in a row', async () => {
    const two = tool('ask', async (_, ctx) => {
      const first = await ctx.interrupt({ reason: 'input' })
      return `${first} ${await ctx.interrupt({ reason: 'input' })}`
    })
    const talk = conversation([calling('ask'), 'Done.'], { tools: [two] })
    const first = await talk.next()
    const second = await talk.next({ ask: 'one' })
    expect(second.end?.interrupts).toMatchObject([{ callId: 'ask' }])
    expect(second.end?.interrupts?.[0]?.id).not.toBe(first.end?.interrupts?.[0]?.id)
    const third = await talk.next({ ask: 'two' })
    expect(third.end?.interrupts).toBeUndefined()
    expect(third.toolEnds).toMatchObject([{ content: 'one two' }])
    expect(talk.started()).toEqual(['ask'])
  })

  test('siblings finish; one interrupt action carries all requests', async () => {
    const log: string[] = []
    const second = tool('other', async (_, ctx) => `got ${await ctx.interrupt({ reason: 'input' })}`)
    const plain = tool('plain', () => `ran ${log.push('plain')}`)
    const talk = conversation([calling('ask', 'plain', 'other'), 'Done.'], { tools: [asking([]), plain, second] })
    const first = await talk.next()
    expect(first.events.filter(({ type }) => type === 'action')).toMatchObject([
      { action: { type: 'interrupt', interrupts: [{ callId: 'ask' }, { callId: 'other' }] } },
    ])
    const { end, toolEnds } = await talk.next({ ask: 1, other: 2 })
    expect([end?.text, log, toolEnds.map(({ content }) => content)]).toEqual(['Done.', ['plain'], ['got 1', 'got 2']])
    expect(brief(talk.model.requests[1]?.messages).slice(2)).toEqual(['tool got 1', 'tool ran 1', 'tool got 2'])
  })

  test('inside a streaming tool', async () => {
    const s = streaming('ask', [], {
      async *stream(_, ctx) {
        yield 'Hello '
        yield `${await ctx.interrupt({ reason: 'input' })}`
      },
    })
    const talk = conversation([calling('ask'), 'Done.'], { tools: [s] })
    expect((await talk.next()).end?.outcome).toBe('interrupted')
    expect((await talk.next({ ask: 'Ann' })).toolEnds).toMatchObject([{ content: 'Hello Ann' }])
    expect(talk.started()).toEqual(['ask'])
  })

  test('the state is JSON and holds no history', async () => {
    const talk = conversation([calling('ask'), 'Done.'], { tools: [asking([])] })
    const { state } = (await talk.next()).resume()
    expect(JSON.stringify(state)).not.toContain('Hello')
  })

  test('a resumed run still counts towards nothing of the first: handlers run again, wraps see the call', async () => {
    const log: string[] = []
    const watcher: AgentHandler = {
      name: 'w',
      beforeAgent: () => void log.push('beforeAgent'),
      wrapInvokableToolCall: (ctx, input, next) => next(ctx, { ...input, name: `${log.push(input.callId) && 'ask'}` }),
      afterAgent: (_, { outcome }) => void log.push(outcome),
    }
    const talk = conversation([calling('ask'), 'Done.'], { tools: [asking([])], handlers: [watcher] })
    await talk.next()
    await talk.next({ ask: 'Ann' })
    expect(log).toEqual(['beforeAgent', 'ask', 'interrupted', 'beforeAgent', 'ask', 'complete'])
  })
})

describe('a nested run in a tool', () => {
  const nesting = (inner: ReturnType<typeof chatModelAgent>) =>
    tool('delegate', async (_, ctx) => (await runNested(inner, { messages: [user('Inner', 'i1')] }, ctx)).text)

  test('shows its events under the outer call, and its text is the result', async () => {
    const inner = chatModelAgent({ name: 'inner', model: scriptedModel(['Inner says hi.']) })
    const { events, toolEnds } = await runAgent([calling('delegate'), 'Done.'], { tools: [nesting(inner)] })
    expect(toolEnds).toMatchObject([{ content: 'Inner says hi.' }])
    const nested = events.filter(({ agentName }) => agentName === 'inner')
    expect(new Set(nested.map(({ parentCallId }) => parentCallId))).toEqual(new Set(['delegate']))
  })

  test('an interrupt inside comes out of the outer call and goes back in on resume; nothing is repeated', async () => {
    let plain = 0
    const innerModel = scriptedModel([calling('ask', 'plain'), 'Inner done.'])
    const ask = tool('ask', async (_, ctx) => `got ${await ctx.interrupt({ reason: 'input' })}`)
    const tools = [ask, tool('plain', () => `${++plain}`)]
    const inner = chatModelAgent({ name: 'inner', model: innerModel, tools })
    const talk = conversation([calling('delegate'), 'Done.'], { tools: [nesting(inner)] })
    const first = await talk.next()
    expect(first.end?.outcome).toBe('interrupted')
    const [question] = first.end?.interrupts ?? []
    expect(question).toMatchObject({ agentName: 'inner', reason: 'input' })
    const second = await talk.next({ [question?.id ?? '']: 'Ann' })
    expect(second.toolEnds).toMatchObject([{ callId: 'delegate', content: 'Inner done.' }])
    expect([innerModel.requests.length, plain, talk.started()]).toEqual([2, 1, ['delegate']])
    expect(brief(innerModel.requests[1]?.messages)).toEqual([
      'user Inner',
      'assistant ask plain',
      'tool got Ann',
      'tool 1',
    ])
  })

  test('a long-running call inside comes out as an interrupt of reason tool-result', async () => {
    const innerModel = scriptedModel([calling('slow'), 'Inner done.'])
    const tools = [tool('slow', undefined, { longRunning: true })]
    const inner = chatModelAgent({ name: 'inner', model: innerModel, tools })
    const talk = conversation([calling('delegate'), 'Done.'], { tools: [nesting(inner)] })
    const [question] = (await talk.next()).end?.interrupts ?? []
    expect(question).toMatchObject({ reason: 'tool-result' })
    const second = await talk.next({ [question?.id ?? '']: 'At last.' })
    expect([second.end?.text, brief(innerModel.requests[1]?.messages).at(-1)]).toEqual(['Done.', 'tool At last.'])
  })

  test('a nested run that failed is a failure of the tool', async () => {
    const inner = chatModelAgent({ name: 'inner', model: scriptedModel([]), retry: false })
    const { toolEnds, end } = await runAgent([calling('delegate'), 'Done.'], { tools: [nesting(inner)] })
    expect(toolEnds).toMatchObject([{ status: 'failed', error: { code: 'MODEL_FAILED' } }])
    expect(end?.outcome).toBe('complete')
  })

  test('an action inside stays inside', async () => {
    const exit = tool('exit', (_, ctx) => ctx.sendAction({ type: 'exit', result: 'inner' }))
    const inner = chatModelAgent({ name: 'inner', model: scriptedModel([calling('exit')]), tools: [exit] })
    const { end, requests } = await runAgent([calling('delegate'), 'Done.'], { tools: [nesting(inner)] })
    expect([end?.text, end?.output, requests.length]).toEqual(['Done.', undefined, 2])
  })
})
