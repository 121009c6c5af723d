import {
  type AgentHandler,
  BaseAgentHandler,
  type InvokeTool,
  type ModelPart,
  type RunContext,
  type StreamTool,
  type ToolCallInput,
  withInvokableToolWrapper,
  withStreamableToolWrapper,
} from '@troupe/kernel'
import { mapStream } from '@troupe/kernel/kit'
import { describe, expect, test } from 'vitest'
import { brief, calling, expectSound, hello, runAgent, streaming, tool } from '../chat-model.fixture.ts'
import type { AgentMiddleware } from '../index.ts'

/** Marks what passes through it, on the way in and on the way out. */
const invokable = (name: string, log: string[]): AgentHandler => ({
  name,
  async wrapInvokableToolCall(ctx, input, next) {
    log.push(`> ${name}`)
    const result = await next(ctx, input)
    log.push(`< ${name}`)
    return { ...result, content: `${name}(${result.content})` }
  },
})

const streamable = (name: string, log: string[]): AgentHandler => ({
  name,
  async wrapStreamableToolCall(ctx, input, next) {
    log.push(`> ${name}`)
    const { stream, result } = await next(ctx, input)
    return {
      stream: mapStream(stream, (chunk) => (typeof chunk === 'string' ? `${name}[${chunk}]` : chunk)),
      result: result.then((value) => {
        log.push(`< ${name}`)
        return { ...value, content: `${name}(${value.content})` }
      }),
    }
  },
})

describe('6.1 tool call wraps: an onion, first registered outermost', () => {
  test('invokable', async () => {
    const log: string[] = []
    const { toolEnds } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t', () => `${log.push('tool')}`)],
      handlers: [invokable('h0', log), invokable('h1', log)],
    })
    expect(log).toEqual(['> h0', '> h1', 'tool', '< h1', '< h0'])
    expect(toolEnds[0]?.content).toBe('h0(h1(3))')
  })

  test('streamable', async () => {
    const log: string[] = []
    const { toolEnds, events } = await runAgent([calling('s'), 'Done.'], {
      tools: [streaming('s', ['x', 'y'])],
      handlers: [streamable('h0', log), streamable('h1', log)],
    })
    expect(log).toEqual(['> h0', '> h1', '< h1', '< h0'])
    expect(events.flatMap((event) => (event.type === 'tool-delta' ? [event.delta] : []))).toEqual([
      'h0[h1[x]]',
      'h0[h1[y]]',
    ])
    expect(toolEnds[0]?.content).toMatch(/^h0\(h1\(/)
  })

  test('a tool with both bodies uses the streamable onion', async () => {
    const log: string[] = []
    const both = streaming('s', ['x'], { invoke: () => `${log.push('invoked')}` })
    await runAgent([calling('s'), 'Done.'], { tools: [both], handlers: [streamable('h', log)] })
    expect(log).toEqual(['> h', '< h'])
  })

  test('a handler that has only the invokable wrap is adapted to a streaming tool, never bypassed', async () => {
    const log: string[] = []
    const { toolEnds, requests } = await runAgent([calling('s'), 'Done.'], {
      tools: [streaming('s', ['x', 'y'])],
      handlers: [streamable('h0', log), invokable('h1', log), streamable('h2', log)],
    })
    expect(log).toEqual(['> h0', '> h1', '> h2', '< h2', '< h1', '< h0'])
    expect(toolEnds[0]?.content).toMatch(/^h0\(h1\(h2\(/)
    expect(requests[1]?.messages.at(-1)?.content).toBe(toolEnds[0]?.content)
  })

  test('a handler that has only the streamable wrap is adapted to an invokable tool, never bypassed', async () => {
    const log: string[] = []
    const { toolEnds } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t', () => 'x')],
      handlers: [invokable('h0', log), streamable('h1', log), invokable('h2', log)],
    })
    expect(log).toEqual(['> h0', '> h1', '> h2', '< h2', '< h1', '< h0'])
    expect(toolEnds[0]?.content).toBe('h0(h1(h2(x)))')
  })

  test('hooks inherited unchanged from BaseAgentHandler count as absent', async () => {
    const log: string[] = []
    class OnlyInvokable extends BaseAgentHandler {
      override wrapInvokableToolCall(ctx: RunContext, input: ToolCallInput, next: InvokeTool) {
        log.push(`invokable ${input.name}`)
        return next(ctx, input)
      }
    }
    class OnlyStreamable extends BaseAgentHandler {
      override wrapStreamableToolCall(ctx: RunContext, input: ToolCallInput, next: StreamTool) {
        log.push(`streamable ${input.name}`)
        return next(ctx, input)
      }
    }
    await runAgent([calling('s'), calling('t'), 'Done.'], {
      tools: [streaming('s'), tool('t')],
      handlers: [new OnlyInvokable('i'), new OnlyStreamable('s')],
    })
    expect(log).toEqual(['invokable s', 'streamable s', 'invokable t', 'streamable t'])
  })

  test('legacy wrapToolCall wraps calls of its kind, outside the handlers', async () => {
    const log: string[] = []
    const middleware: AgentMiddleware = {
      wrapToolCall: {
        invokable: (next) => (ctx, input) => {
          log.push(`m invokable ${input.name}`)
          return next(ctx, input)
        },
        streamable: (next) => (ctx, input) => {
          log.push(`m streamable ${input.name}`)
          return next(ctx, input)
        },
      },
    }
    await runAgent([calling('t'), calling('s'), 'Done.'], {
      tools: [tool('t'), streaming('s')],
      handlers: [
        withInvokableToolWrapper((ctx, input, next) => next(ctx, { ...input, name: `${log.push('h') && 't'}` })),
      ],
      middlewares: [middleware],
    })
    expect(log.filter((line) => line !== 'h')).toEqual(['m invokable t', 'm streamable s'])
    expect(log.slice(0, 2)).toEqual(['m invokable t', 'h'])
  })
})

describe('3.5 a tool call wrap', () => {
  test('gets name, arguments, call id, call options, step, idempotency key and tool', async () => {
    const inputs: ToolCallInput[] = []
    const t = tool('t')
    await runAgent(
      [{ toolCalls: [{ id: 'c1', name: 't', arguments: { a: 1 } }] }, 'Done.'],
      {
        tools: [t],
        handlers: [withInvokableToolWrapper((ctx, input, next) => next(ctx, inputs[inputs.push(input) - 1] ?? input))],
      },
      { ...hello, options: { tools: { t: { fast: true }, other: 1 } } },
    )
    expect(inputs).toEqual([
      {
        name: 't',
        arguments: '{"a":1}',
        callId: 'c1',
        callOptions: { fast: true },
        step: expect.stringMatching(/^tool:\d+:0$/),
        idempotencyKey: expect.any(String),
        tool: t,
      },
    ])
  })

  test('sees arguments as the model wrote them and may correct them: they are validated innermost', async () => {
    const seen: unknown[] = []
    const { toolEnds } = await runAgent([{ toolCalls: [{ id: 'c', name: 't', arguments: ['{broken'] }] }, 'Done.'], {
      tools: [
        tool('t', (args) => `${seen.push(args)}`, {
          parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
        }),
      ],
      handlers: [
        withInvokableToolWrapper((ctx, input, next) =>
          next(ctx, { ...input, arguments: input.arguments === '{broken' ? '{"a":1}' : '' }),
        ),
      ],
    })
    expect([seen, toolEnds[0]?.status]).toEqual([[{ a: 1 }], 'complete'])
  })

  test('may answer by itself: the tool is not called', async () => {
    let calls = 0
    const { toolEnds, started } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t', () => `${++calls}`)],
      handlers: [withInvokableToolWrapper(async () => ({ content: 'Cached.' }))],
    })
    expect([calls, started, toolEnds.map(({ content }) => content)]).toEqual([0, ['t'], ['Cached.']])
  })

  test('may call next again: the call is still answered once', async () => {
    let calls = 0
    const { toolEnds } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t', () => `${++calls}`)],
      handlers: [
        withInvokableToolWrapper(async (ctx, input, next) => {
          await next(ctx, input)
          return next(ctx, input)
        }),
      ],
    })
    expect([calls, toolEnds.map(({ content }) => content)]).toEqual([2, ['2']])
  })

  test('sees a tool failure as result.error, and may turn it into a result', async () => {
    const codes: unknown[] = []
    const fail = () => {
      throw new Error('no luck')
    }
    const { toolEnds } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t', fail)],
      handlers: [
        withInvokableToolWrapper(async (ctx, input, next) => {
          const { error } = await next(ctx, input)
          codes.push(error?.code)
          return { content: 'Recovered.' }
        }),
      ],
    })
    expect(codes).toEqual(['TOOL_FAILED'])
    expect(toolEnds).toMatchObject([{ status: 'complete', content: 'Recovered.' }])
  })

  test('sees the calls of unknown tools, without a tool, and may answer them', async () => {
    const { toolEnds } = await runAgent([calling('ghost'), 'Done.'], {
      handlers: [
        withInvokableToolWrapper(async (ctx, input, next) => {
          expect(input.tool).toBeUndefined()
          const { error } = await next(ctx, input)
          return { content: `${error?.code} answered` }
        }),
      ],
    })
    expect(toolEnds).toMatchObject([{ status: 'complete', content: 'TOOL_UNKNOWN answered' }])
  })

  test('that leaves the stream of a streaming tool early ends the call with what it returns', async () => {
    const { toolEnds } = await runAgent([calling('s'), 'Done.'], {
      tools: [streaming('s', ['one', 'two', 'three'])],
      handlers: [
        withStreamableToolWrapper(async (ctx, input, next) => {
          const { stream } = await next(ctx, input)
          for await (const chunk of stream)
            return { stream: once(chunk), result: Promise.resolve({ content: 'Enough.' }) }
          return expect.fail('no chunk')
        }),
      ],
    })
    expect(toolEnds).toMatchObject([{ status: 'complete', content: 'Enough.' }])
  })
})

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value
}

describe('wrapModelCall', () => {
  const finish: ModelPart = { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }

  test('nests, first registered outermost, and what it yields is what happened', async () => {
    const wrap = (name: string): AgentHandler => ({
      name,
      wrapModelCall: (ctx, request, next) =>
        mapStream(next(ctx, { ...request, instruction: `${request.instruction}${name}` }), (part) =>
          part.type === 'text-delta' ? { ...part, delta: `${name}(${part.delta})` } : part,
        ),
    })
    const { requests, end, story } = await runAgent(['Hi.'], { instruction: '>', handlers: [wrap('h0'), wrap('h1')] })
    expect([requests[0]?.instruction, end?.text]).toEqual(['>h0h1', 'h0(h1(Hi.))'])
    expect(story).toContain('text-delta "h0(h1(Hi.))"')
  })

  test('may answer without the model', async () => {
    const { requests, end } = await runAgent([], {
      handlers: [
        {
          name: 'canned',
          async *wrapModelCall() {
            yield { type: 'text-delta', delta: 'Canned.' }
            yield finish
          },
        },
      ],
    })
    expect([requests.length, end?.outcome, end?.text]).toEqual([0, 'complete', 'Canned.'])
  })

  test('adds nothing to an answer after its finish, as a model does not', async () => {
    const seen: string[] = []
    const outer: AgentHandler = {
      name: 'outer',
      wrapModelCall: (ctx, request, next) =>
        mapStream(next(ctx, request), (part) => (seen.push(part.type) > 0 ? part : undefined)),
    }
    const late: AgentHandler = {
      name: 'late',
      async *wrapModelCall(ctx, request, next) {
        yield* next(ctx, request)
        yield { type: 'text-delta', delta: 'Late.' }
        yield { type: 'tool-call-start', callId: 'c', name: 't' }
        yield { type: 'tool-call-end', callId: 'c' }
        yield { ...finish, usage: { inputTokens: 9, outputTokens: 9 } }
      },
    }
    const finished = await runAgent(['Hi.'], { handlers: [outer, late], tools: [tool('t')] })
    expect([finished.end?.text, finished.toolEnds, seen]).toEqual(['Hi.', [], ['text-delta', 'finish']])
    expect(finished.end?.usage).not.toMatchObject({ inputTokens: 9 })
    expectSound(finished)
  })

  test('may take an answer back and give another', async () => {
    const again: AgentHandler = {
      name: 'again',
      async *wrapModelCall(ctx, request, next) {
        yield* next(ctx, request)
        yield { type: 'restart' }
        yield* next(ctx, request)
      },
    }
    const finished = await runAgent(['First.', 'Second.'], { handlers: [again] })
    expect([finished.end?.text, brief(finished.history).at(-1)]).toEqual(['Second.', 'assistant Second.'])
    expectSound(finished)
  })

  test('may change the messages of one call without changing the history', async () => {
    const { requests } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t')],
      handlers: [
        {
          name: 'last',
          wrapModelCall: (ctx, request, next) => next(ctx, { ...request, messages: request.messages.slice(-2) }),
        },
      ],
    })
    expect(requests.map(({ messages }) => brief(messages))).toEqual([['user Hello'], ['assistant t', 'tool t done']])
  })
})
