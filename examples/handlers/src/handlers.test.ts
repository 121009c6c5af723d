import { readFileSync } from 'node:fs'
import { chatModelAgent } from '@troupe/chat-model'
import { defineTool, type Message, type Tool } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { scriptedModel, testHandler } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { CachingHandler } from './caching-handler.ts'
import { newAgent } from './new-api.ts'
import { oldAgent } from './old-api.ts'

const guide = readFileSync(new URL('../../../docs/handlers.md', import.meta.url), 'utf8')
const noise: Message = { id: 'noise', role: 'user', content: 'Psst.' }
const hello: Message = { id: 'u1', role: 'user', content: 'Hello' }
const tool = (name: string, invoke = () => `${name} done`) =>
  defineTool({ name, description: '', parameters: { type: 'object' }, invoke }) as Tool

it.each(['old-api', 'new-api', 'caching-handler'])('%s is in the guide, to the letter', (name) => {
  expect(guide).toContain(`\`\`\`ts\n${readFileSync(new URL(`${name}.ts`, import.meta.url), 'utf8')}\`\`\``)
})

describe('the old API', () => {
  it('appends instruction and tools, and edits the history', async () => {
    const model = scriptedModel(['Hi.'])
    await startRun(oldAgent(model, tool('my_tool')), { messages: [noise, hello] })
    expect(model.requests[0]).toMatchObject({
      instruction: 'You help.\nBe concise.',
      messages: [{ id: 'u1' }],
      tools: [{ name: 'my_tool' }],
    })
  })
})

describe('the new API', () => {
  it('changes instruction, tools and history, and wraps calls', async () => {
    const log: string[] = []
    const model = scriptedModel([{ toolCalls: [{ id: 'c1', name: 'final_answer' }] }])
    const tools = [tool('dangerous_tool'), tool('final_answer', () => 'The answer.')]
    const agent = newAgent(model, tools, tool('my_tool'), (line) => void log.push(line))
    const { text } = await startRun(agent, { messages: [noise, hello] })
    expect(text).toBe('The answer.')
    expect(model.requests).toMatchObject([
      {
        instruction: 'You help.\n\nBe concise.\nThe user is standalone.',
        messages: [{ id: 'u1' }],
        tools: [{ name: 'final_answer' }, { name: 'my_tool' }],
      },
    ])
    expect(log).toEqual(['Calling tool: final_answer (callId: c1)', 'Tool result: The answer.'])
  })
})

describe('the caching handler', () => {
  testHandler('keeps the contract', () => new CachingHandler())

  it('gives a result again, and does not keep a failure', async () => {
    let calls = 0
    const look = () => {
      if (++calls === 1) throw new Error('not yet')
      return `looked ${calls}`
    }
    const flaky: Tool = { ...tool('look', look), effect: 'pure' }
    const once = { toolCalls: [{ name: 'look' }] }
    const model = scriptedModel([once, once, once, 'Done.'])
    const agent = chatModelAgent({ name: 'MyAgent', model, tools: [flaky], handlers: [new CachingHandler()] })
    await startRun(agent, { messages: [hello] })
    expect(calls).toBe(2)
    const results = model.requests[3]?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
    expect(results?.slice(1)).toEqual(['looked 2', 'looked 2'])
  })
})
