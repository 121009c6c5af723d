import {
  type AgentConfig,
  BaseAgentHandler,
  type InvokeTool,
  type RunContext,
  type ToolCallInput,
  type ToolCallResult,
  withBeforeAgent,
  withBeforeModelRewriteHistory,
  withInstruction,
  withInvokableToolWrapper,
  withTools,
} from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { fakeClock, record, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { brief, calling, hello, tool, user } from '../chat-model.fixture.ts'
import { chatModelAgent } from '../index.ts'

describe('5. the examples of the design document', () => {
  test('5.1 the old API', async () => {
    const model = scriptedModel([calling('my_tool'), 'Short answer.'])
    const agent = chatModelAgent({
      name: 'MyAgent',
      description: 'A helpful agent',
      model,
      instruction: 'You help.',
      middlewares: [
        {
          additionalInstruction: 'Be concise.',
          additionalTools: [tool('my_tool')],
          beforeChatModel(_ctx, state) {
            if (state.messages.length === 1) state.messages.push(user('Mind the tone.', 'tone'))
          },
        },
      ],
    })
    const { text } = await startRun(agent, hello)
    expect([agent.name, agent.description, text]).toEqual(['MyAgent', 'A helpful agent', 'Short answer.'])
    expect(model.requests[0]?.instruction).toBe('You help.\nBe concise.')
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['my_tool'])
    expect(brief(model.requests[1]?.messages)).toEqual([
      'user Hello',
      'user Mind the tone.',
      'assistant my_tool',
      'tool my_tool done',
    ])
  })

  test('5.2 the new API', async () => {
    const log: string[] = []
    const clock = fakeClock(Date.UTC(2026, 0, 2))
    const model = scriptedModel([calling('my_tool'), calling('final_answer'), 'Never.'])
    const agent = chatModelAgent({
      name: 'MyAgent',
      description: 'A helpful agent',
      model,
      instruction: 'You help.',
      tools: [tool('dangerous_tool'), tool('final_answer', () => 'The answer.')],
      handlers: [
        withInstruction('Be concise.'),
        withTools(tool('my_tool')),
        withBeforeAgent((ctx, config) => {
          config.instruction = `${config.instruction}\nCurrent time: ${new Date(ctx.clock.now()).toISOString()}`
          config.tools = config.tools
            .filter((meta) => meta.tool.name !== 'dangerous_tool')
            .map((meta) => ({ ...meta, returnDirectly: meta.tool.name === 'final_answer' }))
        }),
        withBeforeModelRewriteHistory((_ctx, messages) => messages.filter(({ id }) => id !== 'noise')),
        withInvokableToolWrapper(async (ctx, input, next) => {
          log.push(`Calling tool: ${input.name} (callId: ${input.callId})`)
          const result = await next(ctx, input)
          log.push(`Tool result: ${result.content}`)
          return result
        }),
      ],
    })
    const { text } = await startRun(agent, { messages: [user('Psst.', 'noise'), user()] }, { clock })
    expect(text).toBe('The answer.')
    expect(model.requests).toHaveLength(2)
    expect(model.requests[0]).toMatchObject({
      instruction: 'You help.\n\nBe concise.\nCurrent time: 2026-01-02T00:00:00.000Z',
      messages: [{ id: 'u1' }],
      tools: [{ name: 'final_answer' }, { name: 'my_tool' }],
    })
    expect(log).toEqual([
      'Calling tool: my_tool (callId: my_tool)',
      'Tool result: my_tool done',
      'Calling tool: final_answer (callId: final_answer)',
      'Tool result: The answer.',
    ])
  })

  test('5.3 a custom handler with a cache', async () => {
    class MyCustomHandler extends BaseAgentHandler {
      readonly #cache = new Map<string, ToolCallResult>()

      constructor() {
        super('my-custom-handler')
      }

      override beforeAgent(_ctx: RunContext, config: AgentConfig) {
        config.instruction = `${config.instruction}\nResults may be cached.`
      }

      override async wrapInvokableToolCall(ctx: RunContext, input: ToolCallInput, next: InvokeTool) {
        const key = `${input.name}:${input.arguments}`
        const cached = this.#cache.get(key)
        if (cached) return cached
        const result = await next(ctx, input)
        if (!result.error) this.#cache.set(key, result)
        return result
      }
    }
    let calls = 0
    const flaky = tool('look', () => {
      if (++calls === 1) throw new Error('not yet')
      return `looked ${calls}`
    })
    const call = (id: string) => ({ toolCalls: [{ id, name: 'look', arguments: { q: 1 } }] })
    const model = scriptedModel([call('c1'), call('c2'), call('c3'), 'Done.'])
    const agent = chatModelAgent({
      name: 'MyAgent',
      model,
      instruction: 'You help.',
      tools: [flaky],
      handlers: [new MyCustomHandler()],
    })
    const { events } = await record(startRun(agent, hello))
    const ends = events.flatMap((event) => (event.type === 'tool-end' ? [`${event.status} ${event.content}`] : []))
    expect(ends).toEqual([expect.stringMatching(/^failed .*not yet/), 'complete looked 2', 'complete looked 2'])
    expect([calls, model.requests[0]?.instruction]).toEqual([2, 'You help.\nResults may be cached.'])
  })
})
