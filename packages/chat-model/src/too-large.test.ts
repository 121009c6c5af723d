import { type ChatModel, defineTool, type ModelPart } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { brief, calling, expectSound, type Options, runAgent, streaming, tool } from './chat-model.fixture.ts'

/** A model that never ends its answer, with the number of parts that were taken. */
function endless(...parts: readonly ModelPart[]): ChatModel & { readonly taken: number; readonly left: boolean } {
  const model = {
    name: 'endless',
    taken: 0,
    left: false,
    async *stream(): AsyncGenerator<ModelPart> {
      try {
        for (;;) {
          // A test that fails ends too.
          if (++model.taken > 3_000_000) throw new Error('nobody stopped the model')
          yield parts[(model.taken - 1) % parts.length] as ModelPart
        }
      } finally {
        model.left = true
      }
    },
  }
  return model
}

const call: readonly ModelPart[] = [
  { type: 'tool-call-start', callId: '', name: 'a' },
  { type: 'tool-call-delta', callId: '', delta: '' },
  { type: 'tool-call-end', callId: '' },
]
const text: ModelPart = { type: 'text-delta', delta: 'All work and no play. ' }
const maxAnswerChars = 10_000

describe('an answer of a model', () => {
  test.each<[string, readonly ModelPart[]]>([
    ['text', [text]],
    ['reasoning', [{ type: 'reasoning-delta', delta: 'Hm, ' }]],
    ['nothing', [{ type: 'text-delta', delta: '' }]],
    ['text and reasoning by turns, both empty', [text, { type: 'reasoning-delta', delta: '' }]],
    ['calls', call],
    ['arguments', [{ type: 'tool-call-delta', callId: '', delta: '[' }]],
    ['files', [{ type: 'file', file: { type: 'file', mediaType: 'image/png', data: 'AAAA' } }]],
    ['metadata', [text, { type: 'part-end', metadata: { vendor: { signature: 'x' } } }]],
  ])('that has no end fails with ANSWER_TOO_LARGE: %s', async (name, parts) => {
    const begin = name === 'arguments' ? call.slice(0, 1) : []
    const model = endless(...parts)
    const source: ChatModel = {
      name: 'm',
      async *stream(request, options) {
        yield* begin
        yield* model.stream(request, options)
      },
    }
    const finished = await runAgent([], { model: source, maxAnswerChars })
    expect(finished.end).toMatchObject({ outcome: 'failed', error: { code: 'ANSWER_TOO_LARGE' } })
    expect(finished.end?.error?.details).toEqual({ maxAnswerChars })
    expect(model.taken).toBeLessThan(maxAnswerChars / 16 + 2)
    expect(model.left).toBe(true)
    expect(brief(finished.history)).toEqual(['user Hello'])
    expectSound(finished)
  })

  test('without an end is stopped by the default limit', async () => {
    const model = endless({ type: 'text-delta', delta: 'x'.repeat(10_000) })
    const { end } = await runAgent([], { model })
    expect(end?.error?.code).toBe('ANSWER_TOO_LARGE')
    expect(model.taken).toBeLessThan(801)
  })

  test('that a handler collects is limited too', async () => {
    const model = endless(text)
    const handlers: Options['handlers'] = [
      {
        name: 'collector',
        async *wrapModelCall(ctx, request, next) {
          const parts: ModelPart[] = []
          for await (const part of next(ctx, request)) parts.push(part)
          yield* parts
        },
      },
    ]
    const { end } = await runAgent([], { model, handlers, maxAnswerChars })
    expect(end?.error?.code).toBe('ANSWER_TOO_LARGE')
    expect(model.taken).toBeLessThan(maxAnswerChars)
  })

  test('that is too large is asked of the model to fall back on', async () => {
    const finished = await runAgent([], {
      model: endless(text),
      fallbacks: [scriptedModel(['Short.'])],
      maxAnswerChars,
    })
    expect(finished.end).toMatchObject({ outcome: 'complete', text: 'Short.' })
    expectSound(finished)
  })

  test('that fits passes', async () => {
    const outcomeOf = async (length: number) => {
      const model: ChatModel = {
        name: 'm',
        async *stream() {
          yield { type: 'text-delta', delta: 'x'.repeat(length) }
          yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
        },
      }
      return (await runAgent([], { model, maxAnswerChars })).end?.outcome
    }
    expect([await outcomeOf(9_800), await outcomeOf(10_000)]).toEqual(['complete', 'failed'])
  })
})

describe('a result of a tool', () => {
  const maxResultChars = 1_000
  const refused = {
    status: 'failed',
    content: 'Error: tool t: its result has more than 1000 characters (maxResultChars); ask it for less',
    error: { code: 'RESULT_TOO_LARGE', details: { maxResultChars } },
  }
  const cycle: unknown[] = []
  cycle.push(cycle, cycle)
  let deep = {}
  for (let i = 0; i < 60; i++) deep = { next: deep, note: 'x'.repeat(20) }

  test.each<[string, () => unknown]>([
    ['text', () => 'x'.repeat(1_001)],
    ['a list', () => Array(1_000).fill(1)],
    ['an object', () => ({ text: 'x'.repeat(1_000) })],
    ['names', () => ({ ['x'.repeat(1_000)]: 1 })],
    ['something deep', () => deep],
    ['parts', () => ({ content: [{ type: 'text', text: 'x'.repeat(1_000) }] })],
    ['display', () => ({ content: '', display: 'x'.repeat(1_000) })],
    ['a list that contains itself', () => cycle],
    ['80 MB', () => 'x'.repeat(80_000_000)],
    ['80 MB of data', () => Array(10_000_000).fill(1)],
  ])('that is too large is refused, and the model is told: %s', async (_, output) => {
    const tools = [tool('t', output as never)]
    const finished = await runAgent([calling('t'), 'So be it.'], { tools, maxResultChars })
    expect(finished.toolEnds).toMatchObject([refused])
    expect(finished.end?.text).toBe('So be it.')
    expectSound(finished)
  })

  test('of 80 MB is refused by default', async () => {
    for (const output of ['x'.repeat(80_000_000), Array(10_000_000).fill(1)]) {
      const { toolEnds } = await runAgent([calling('t'), 'So be it.'], { tools: [tool('t', () => output)] })
      expect(toolEnds).toMatchObject([{ error: { code: 'RESULT_TOO_LARGE', details: { maxResultChars: 4_000_000 } } }])
    }
  })

  test('that comes in chunks without an end is stopped', async () => {
    let chunks = 0
    let left = false
    const t = defineTool({
      name: 't',
      description: 't',
      parameters: { type: 'object' },
      async *stream() {
        try {
          while (++chunks < 100_000) yield ''
        } finally {
          left = true
        }
      },
    })
    const finished = await runAgent([calling('t'), 'So be it.'], { tools: [t], maxResultChars })
    expect(finished.toolEnds).toMatchObject([refused])
    expect([chunks < 100, left]).toEqual([true, true])
    expectSound(finished)
  })

  test('that comes in chunks may be told as a whole at its end', async () => {
    const tools = [streaming('t', ['x'.repeat(600), 'x'.repeat(300)])]
    const { toolEnds } = await runAgent([calling('t'), 'Good.'], { tools, maxResultChars })
    expect(toolEnds).toMatchObject([{ status: 'complete', content: 'x'.repeat(900) }])
  })

  test.each(['wrapInvokableToolCall', 'wrapStreamableToolCall'] as const)(
    'that a handler makes too large is refused: %s',
    async (hook) => {
      const big = { content: 'x'.repeat(1_001) }
      const wrap = {
        wrapInvokableToolCall: async () => big,
        wrapStreamableToolCall: async () => ({ stream: (async function* () {})(), result: Promise.resolve(big) }),
      }
      for (const t of [tool('t'), streaming('t')]) {
        const handlers = [{ name: 'h', [hook]: wrap[hook] }]
        const { toolEnds } = await runAgent([calling('t'), 'So be it.'], { tools: [t], handlers, maxResultChars })
        expect(toolEnds).toMatchObject([refused])
      }
    },
  )

  test('of exactly the limit passes, with handlers and without', async () => {
    const data = { text: 'x'.repeat(900) }
    for (const handlers of [
      [],
      [{ name: 'h', wrapInvokableToolCall: (ctx, input, next) => next(ctx, input) }],
    ] satisfies Options['handlers'][]) {
      for (const output of ['x'.repeat(1_000), data]) {
        const { toolEnds } = await runAgent([calling('t'), 'Good.'], {
          tools: [tool('t', () => output)],
          handlers,
          maxResultChars,
        })
        expect(toolEnds).toMatchObject([{ status: 'complete' }])
      }
    }
  })

  test('ends the run if the tool says so', async () => {
    const tools = [tool('t', () => 'x'.repeat(1_001), { onError: 'throw' })]
    const { end } = await runAgent([calling('t')], { tools, maxResultChars })
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'RESULT_TOO_LARGE' } })
  })

  test('is not asked for again', async () => {
    let calls = 0
    const tools = [tool('t', () => 'x'.repeat(1_001 + calls++), { effect: 'pure' })]
    await runAgent([calling('t'), 'So be it.'], { tools, maxResultChars, toolRetry: () => 0 })
    expect(calls).toBe(1)
  })
})
