import { chatModelAgent } from '@troupe/chat-model'
import { type AgentToolOptions, agentTool, runner } from '@troupe/flow'
import { type Agent, defineTool, type Message } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'

describe('an agent tool with history', () => {
  const ask = (inner: Agent, options?: AgentToolOptions) =>
    chatModelAgent({
      name: 'outer',
      model: scriptedModel([
        { toolCalls: [{ id: 'w', name: 'look' }] },
        { toolCalls: [{ id: 'c', name: inner.name, arguments: { request: 'Go.' } }] },
        'Done.',
      ]),
      tools: [agentTool(inner, options), defineTool({ ...LOOK, invoke: () => 'looked' })],
    })
  const LOOK = { name: 'look', description: 'Looks.', parameters: { type: 'object' } } as const
  const contents = (messages: readonly Message[] = []) => messages.map(({ content }) => content)

  test('the agent sees the conversation before its call, what others said as context, and then its request', async () => {
    const model = scriptedModel(['Inner.'])
    const inner = chatModelAgent({ name: 'inner', model })
    const { outcome } = await runner({ agent: ask(inner, { history: true }) }).query('Hello')
    expect(outcome).toBe('complete')
    expect(contents(model.requests[0]?.messages)).toEqual([
      'Hello',
      expect.stringMatching(/^For context: \[outer\] called tool: `look`/),
      expect.stringMatching(/^For context: \[outer\] `look` tool returned result: looked/),
      'Go.',
    ])
  })

  test('it does not by default', async () => {
    const model = scriptedModel(['Inner.'])
    await runner({ agent: ask(chatModelAgent({ name: 'inner', model })) }).query('Hello')
    expect(contents(model.requests[0]?.messages)).toEqual(['Go.'])
  })
})
