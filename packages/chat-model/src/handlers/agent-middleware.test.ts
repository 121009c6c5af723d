import { type InvokeTool, type StreamTool, withInstructionFunc } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { brief, calling, runAgent, streaming, tool, user } from '../chat-model.fixture.ts'
import type { AgentMiddleware } from '../index.ts'

const base = { instruction: 'You help.' }

describe('4.1 AgentMiddleware is a handler', () => {
  test('additionalInstruction is joined with one newline, and an empty one with nothing', async () => {
    const middlewares = [{ additionalInstruction: 'A' }, { additionalInstruction: '' }, { additionalInstruction: 'B' }]
    const { requests } = await runAgent(['Hi'], { ...base, middlewares })
    expect(requests[0]?.instruction).toBe('You help.\nA\nB')
  })

  test('additionalTools are appended, and none of them returns directly', async () => {
    const middlewares = [{ additionalTools: [tool('b')] }]
    const { requests } = await runAgent([calling('b'), 'Done.'], { ...base, tools: [tool('a')], middlewares })
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(requests).toHaveLength(2)
  })

  test('beforeChatModel and afterChatModel change a state of their own, by push or by assignment', async () => {
    const given = Object.freeze([user()])
    const middleware: AgentMiddleware = {
      beforeChatModel: (_ctx, state) => void state.messages.push(user('Mind the tone.', 'tone')),
      afterChatModel: async (_ctx, state) => {
        state.messages = state.messages.map((message) =>
          message.role === 'assistant' ? { ...message, content: 'Changed.' } : message,
        )
      },
    }
    const { requests, end } = await runAgent(['Said.'], { ...base, middlewares: [middleware] }, { messages: given })
    expect(brief(requests[0]?.messages)).toEqual(['user Hello', 'user Mind the tone.'])
    expect(end?.text).toBe('Changed.')
    expect(given).toHaveLength(1)
  })

  test('wrapToolCall.invokable and .streamable wrap calls', async () => {
    const log: string[] = []
    const invokable = (next: InvokeTool): InvokeTool => {
      return async (ctx, input) => {
        log.push(`invokable ${input.name}`)
        const result = await next(ctx, input)
        return { ...result, content: `[${result.content}]` }
      }
    }
    const streamable = (next: StreamTool): StreamTool => {
      return (ctx, input) => {
        log.push(`streamable ${input.name}`)
        return next(ctx, input)
      }
    }
    const middlewares = [{ wrapToolCall: { invokable, streamable } }]
    const tools = [tool('t'), streaming('s', ['a', 'b'])]
    const { toolEnds } = await runAgent([calling('t', 's'), 'Done.'], { ...base, tools, middlewares })
    expect(log.toSorted()).toEqual(['invokable t', 'streamable s'])
    expect(Object.fromEntries(toolEnds.map(({ name, content }) => [name, content]))).toEqual({ t: '[t done]', s: 'ab' })
  })

  test('its errors name legacy-middleware and the hook', async () => {
    const middleware: AgentMiddleware = {
      beforeChatModel() {
        throw new Error('no')
      },
    }
    const { errors } = await runAgent(['Hi'], { ...base, middlewares: [middleware] })
    const details = { handler: 'legacy-middleware', hook: 'beforeModelRewriteHistory' }
    expect(errors).toMatchObject([{ code: 'HANDLER_FAILED', details }])
  })
})

describe('4.2 one list: middlewares first, then handlers', () => {
  test('a middleware keeps its place in either list', async () => {
    const say = (text: string) => ({ additionalInstruction: text })
    const handlers = [withInstructionFunc((_ctx, text) => `${text}|H`), say('B')]
    const { requests } = await runAgent(['Hi'], { ...base, middlewares: [say('A')], handlers })
    expect(requests[0]?.instruction).toBe('You help.\nA|H\nB')
  })

  test('a handler with a field that a middleware has too stays a handler', async () => {
    const handler = { ...withInstructionFunc(() => 'Mine.'), additionalTools: [] }
    const { requests } = await runAgent(['Hi'], { ...base, handlers: [handler] })
    expect(requests[0]?.instruction).toBe('Mine.')
  })
})
