import { defineTool, KernelError, type Tool, withInvokableToolWrapper, withToolsFunc } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { fakeClock, scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  calling,
  expectSound,
  hello,
  idle,
  never,
  noUnhandledRejection,
  runAgent,
  tool,
} from '../chat-model.fixture.ts'
import { chatModelAgent } from '../chat-model-agent.ts'

beforeEach(noUnhandledRejection)

const raise = (error: unknown) => (): never => {
  throw error
}
/** The code of an invalid result. */
const NO_RESULT = /^(TOOL|VALIDATION)_FAILED$/
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const args = (...pieces: readonly string[]) => ({ toolCalls: [{ id: 'c', name: 't', arguments: pieces }] })

describe('6: a call is answered exactly once before the next model call', () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const returning = (value: unknown) => tool('t', () => value as never)
  const cases: Record<string, readonly [Tool | undefined, string, string | RegExp | undefined]> = {
    'a result': [tool('t'), '{}', undefined],
    'no value at all': [tool('t', () => undefined), '{}', undefined],
    'no arguments at all count as {}': [tool('t'), '', undefined],
    'invalid JSON': [tool('t'), '{"city": ', 'VALIDATION_FAILED'],
    'invalid arguments': [tool('t', () => 'x', { parameters: city }), '{"city": 1}', 'VALIDATION_FAILED'],
    'arguments that are not an object': [tool('t'), '[1]', 'VALIDATION_FAILED'],
    'an unknown tool': [undefined, '{}', 'TOOL_UNKNOWN'],
    'a thrown error': [tool('t', raise(new Error('no'))), '{}', 'TOOL_FAILED'],
    'a rejection': [tool('t', async () => raise(new Error('no'))()), '{}', 'TOOL_FAILED'],
    'a thrown value that is not an error': [tool('t', raise('no')), '{}', 'TOOL_FAILED'],
    'a coded error keeps its code': [tool('t', raise(new KernelError('NOT_FOUND', 't: no'))), '{}', 'NOT_FOUND'],
    'a function instead of a result': [returning(() => 1), '{}', NO_RESULT],
    'data that is not JSON': [returning({ content: 'x', data: 1n }), '{}', NO_RESULT],
    'data that is circular': [returning({ content: 'x', data: circular }), '{}', NO_RESULT],
    'a stream that fails midway': [
      defineTool({
        name: 't',
        description: 't',
        parameters: { type: 'object' },
        async *stream() {
          yield 'half '
          raise(new Error('no'))()
        },
      }),
      '{}',
      'TOOL_FAILED',
    ],
  }
  test.each(Object.entries(cases))('%s', async (_, [one, text, code]) => {
    const finished = await runAgent([args(text), 'Done.'], { tools: one ? [one] : [] })
    const { toolEnds, requests, end } = finished
    expect(toolEnds).toHaveLength(1)
    expect(toolEnds[0]).toMatchObject({ callId: 'c', name: 't', status: code ? 'failed' : 'complete' })
    if (code) {
      expect(toolEnds[0]?.error?.code).toMatch(code)
      expect(toolEnds[0]?.content).not.toBe('')
    }
    const sent = requests[1]?.messages.at(-1)
    expect(sent).toMatchObject({ role: 'tool', callId: 'c', content: toolEnds[0]?.content, id: toolEnds[0]?.messageId })
    expect([end?.outcome, end?.text]).toEqual(['complete', 'Done.'])
    expectSound(finished)
  })

  test.each(['ABORTED', 'INTERRUPTED'])(
    '%s thrown by a tool in a run that was not stopped is a failure like any other',
    async (code) => {
      const thrown = new KernelError(code, 'mine: no')
      const failing: Record<string, Tool> = {
        invoke: tool('t', raise(thrown)),
        stream: defineTool({
          ...tool('t'),
          invoke: undefined as never,
          async *stream() {
            yield 'half'
            raise(thrown)()
          },
        }),
      }
      for (const one of Object.values(failing)) {
        const finished = await runAgent([args('{}'), 'Done.'], { tools: [one] }, hello, { canInterrupt: true })
        expect(finished.toolEnds).toMatchObject([
          { status: 'failed', content: 'Error: tool t: mine: no', error: { code: 'TOOL_FAILED' } },
        ])
        expect([finished.end?.outcome, finished.end?.text]).toEqual(['complete', 'Done.'])
        expectSound(finished)
      }
      const strict = await runAgent([args('{}')], { tools: [tool('t', raise(thrown), { onError: 'throw' })] })
      expect(strict.errors).toMatchObject([{ code: 'TOOL_FAILED', message: 'tool t: mine: no' }])
    },
  )

  test('a validated value is what the tool gets: defaults and transformations of the schema included', async () => {
    const seen: unknown[] = []
    const t = defineTool({
      name: 't',
      description: 't',
      parameters: z.object({ n: z.number().default(7) }),
      invoke: ({ n }) => `${seen.push(n)}`,
    })
    await runAgent([args('{}'), 'Done.'], { tools: [t] })
    expect(seen).toEqual([7])
  })

  test.each([{ type: 'object' }, z.looseObject({})])(
    'arguments may have a property called then',
    async (parameters) => {
      const got: unknown[] = []
      const one = defineTool({
        name: 't',
        description: 't',
        parameters,
        invoke: (given) => {
          got.push(given)
          return 'ok'
        },
      })
      const text = '{"then":"x"}'
      const { toolEnds } = await runAgent([args(text), 'Done.'], { tools: [one] })
      expect([got, toolEnds.map(({ content }) => content)]).toEqual([[JSON.parse(text)], ['ok']])
    },
  )

  test('content, display and data of a result reach event and history', async () => {
    const result = { content: 'For the model.', display: 'For you.', data: { n: 1 } }
    const { toolEnds, requests } = await runAgent([args('{}'), 'Done.'], { tools: [tool('t', () => result)] })
    expect(toolEnds).toMatchObject([result])
    expect(requests[1]?.messages.at(-1)).toMatchObject(result)
  })

  test('the result may be an error of the tool’s own making', async () => {
    const error = { code: 'QUOTA', message: 't: used up' }
    const { toolEnds } = await runAgent([args('{}'), 'Done.'], {
      tools: [tool('t', () => ({ content: 'No.', error }))],
    })
    expect(toolEnds).toMatchObject([{ status: 'failed', content: 'No.', error }])
  })

  test('onError throw: the run fails with the error of the tool, and the call is answered all the same', async () => {
    const finished = await runAgent([calling('t', 'ok'), 'Never.'], {
      tools: [tool('t', raise(new Error('fatal')), { onError: 'throw' }), tool('ok')],
    })
    expect(finished.errors).toMatchObject([{ code: 'TOOL_FAILED', message: expect.stringContaining('fatal') }])
    expect([finished.end?.outcome, finished.requests.length]).toEqual(['failed', 1])
    expect(finished.toolEnds.map(({ callId, status }) => `${callId} ${status}`).toSorted()).toEqual([
      'ok complete',
      't failed',
    ])
  })

  test('abort: every call that has started is closed, none starts, the model is not asked again', async () => {
    const controller = new AbortController()
    const waiting = tool('wait', (_, ctx) => {
      const { promise, reject } = Promise.withResolvers<string>()
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason), { once: true })
      queueMicrotask(() => controller.abort())
      return promise
    })
    const finished = await runAgent(
      [calling('wait', 'later'), 'Never.'],
      { tools: [waiting, tool('later')], toolConcurrency: 1 },
      hello,
      { signal: controller.signal },
    )
    expect([finished.end?.outcome, finished.requests.length, finished.started]).toEqual(['cancelled', 1, ['wait']])
    expect(finished.toolEnds.find(({ callId }) => callId === 'wait')).toMatchObject({
      status: 'failed',
      error: { code: 'ABORTED' },
    })
    expectSound(finished)
  })

  test('abort reaches a run whose tool ignores it', async () => {
    const controller = new AbortController()
    const clock = fakeClock()
    const running = runAgent([calling('t')], { tools: [tool('t', () => never)] }, hello, {
      clock,
      signal: controller.signal,
    })
    await idle()
    controller.abort()
    await idle()
    clock.advance(1_000)
    const finished = await running
    expect(finished.end?.outcome).toBe('cancelled')
    expectSound(finished)
    expect(clock.pending).toBe(0)
  })
})

describe('call ids', () => {
  test('duplicate and empty ids of a provider are replaced, and results find their calls', async () => {
    const ids = ['x', 'x', '', '']
    const turn = { toolCalls: ids.map((id, n) => ({ id, name: 't', arguments: { n } })) }
    const finished = await runAgent([turn, turn, 'Done.'], { tools: [tool('t', (value) => JSON.stringify(value))] })
    const { toolEnds, requests, started } = finished
    expect(finished.errors).toEqual([])
    const all = toolEnds.map(({ callId }) => callId)
    expect([all.length, new Set(all).size, all.includes('')]).toEqual([8, 8, false])
    expect(all[0]).toBe('x')
    expect(new Set(started)).toEqual(new Set(all))
    const assistant = requests[1]?.messages.find((message) => message.role === 'assistant')
    const results = requests[1]?.messages.filter((message) => message.role === 'tool') ?? []
    expect(results.map(({ callId }) => callId)).toEqual(assistant?.toolCalls?.map(({ id }) => id))
    expect(results.map(({ content }) => content)).toEqual([0, 1, 2, 3].map((n) => JSON.stringify({ n })))
    expectSound(finished)
  })

  test('an id that an earlier run of the thread has used is replaced', async () => {
    const first = await runAgent([calling('t'), 'Done.'], { tools: [tool('t')] })
    const second = await runAgent(
      [calling('t'), 'Done.'],
      { tools: [tool('t')] },
      { messages: first.history },
      { runId: 'R2' },
    )
    expect(second.toolEnds[0]?.callId).not.toBe('t')
  })
})

test('callOptions come from RunOptions.tools by name', async () => {
  const seen: unknown[] = []
  const look: Tool['invoke'] = (_args, _ctx, call) => `${seen.push(call.callOptions)}`
  await runAgent(
    [calling('a', 'b'), 'Done.'],
    { tools: [tool('a', look), tool('b', look)] },
    { ...hello, options: { tools: { a: { unit: 'C' } } } },
  )
  expect(seen).toEqual([{ unit: 'C' }, undefined])
})

test('the model gets each tool with its JSON Schema', async () => {
  const zodTool = defineTool({
    name: 'z',
    description: 'Z.',
    parameters: z.object({ n: z.number() }),
    invoke: () => '',
  })
  const model = scriptedModel(['Hi.'])
  await runAgent([], { model, tools: [tool('t', undefined, { parameters: city }), zodTool] })
  expect(model.requests[0]?.tools).toMatchObject([
    { name: 't', description: 't', parameters: city },
    { name: 'z', description: 'Z.', parameters: { type: 'object', properties: { n: { type: 'number' } } } },
  ])
  expect(JSON.parse(JSON.stringify(model.requests[0]))).toEqual(model.requests[0])
})

test('a tool that a handler replaced is the one that is called', async () => {
  const { toolEnds } = await runAgent([calling('t'), 'Done.'], {
    tools: [tool('t', () => 'old')],
    handlers: [withToolsFunc(() => [{ tool: tool('t', () => 'new'), returnDirectly: false }])],
  })
  expect(toolEnds).toMatchObject([{ content: 'new' }])
})

test("the error of a tool that says onError 'throw' keeps code, details and cause, and names the tool", async () => {
  const cause = Object.assign(new Error('declined'), { code: 'PAYMENT_DECLINED', details: { bank: 'x' } })
  for (const handlers of [[], [withInvokableToolWrapper((ctx, input, next) => next(ctx, input))]]) {
    const pay = tool('pay', raise(cause), { onError: 'throw' })
    const agent = chatModelAgent({ name: 'a', model: scriptedModel([calling('pay')]), tools: [pay], handlers })
    const error = await startRun(agent, hello).then(undefined, (thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'PAYMENT_DECLINED',
      message: 'tool pay failed, declined',
      details: { bank: 'x', tool: 'pay' },
      cause,
    })
    expect((error as { details: object }).details).not.toHaveProperty('thrown')
  }
})

test('a streaming tool that returns null has null as its result, not its chunks', async () => {
  const nothing = defineTool({
    name: 't',
    description: 't',
    parameters: { type: 'object' },
    async *stream() {
      yield 'chunk'
      return null
    },
  })
  const { toolEnds } = await runAgent([calling('t'), 'Done.'], { tools: [nothing] })
  expect(toolEnds).toMatchObject([{ content: 'null', data: null }])
})

test('a stream that gives a chunk which is neither text nor a part is closed, and the call fails', async () => {
  let closed = false
  const wrong = tool('t', undefined, {
    async *stream() {
      try {
        yield 'fine'
        yield { type: 'picture' } as never
      } finally {
        closed = true
      }
    },
  })
  const { toolEnds } = await runAgent([calling('t'), 'Done.'], { tools: [wrong] })
  expect([closed, toolEnds[0]?.error?.code]).toEqual([true, 'TOOL_FAILED'])
})

test('a call of an unknown tool tells the model which tools there are', async () => {
  const tools = [tool('one'), tool('two')]
  const { toolEnds } = await runAgent([calling('three'), 'Done.'], { tools })
  expect(toolEnds[0]).toMatchObject({
    content: 'Error: tool three: this agent has no such tool; its tools are one, two',
    error: { code: 'TOOL_UNKNOWN', details: { names: ['one', 'two'] } },
  })
})

test('options of calls are own properties: a tool may be called like a member of every object', async () => {
  const seen: unknown[] = []
  const named = tool('constructor', (_, __, { callOptions }) => {
    seen.push(callOptions)
    return 'done'
  })
  await runAgent([calling('constructor'), 'Done.'], { tools: [named] }, { ...hello, options: { tools: {} } })
  expect(seen).toEqual([undefined])
})
