import { chatModelAgent } from '@troupe/chat-model'
import { breakLoopTool, parallel, runner, setSubAgents } from '@troupe/flow'
import { defineTool, type Message } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'

const session = { app: 'test', user: 'ann', threadId: 't' }
const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 1 })

test('the usage of a resumed run counts from its resume on', async () => {
  const ask = defineTool({
    name: 'ask',
    description: 'Asks a person.',
    parameters: { type: 'object' },
    invoke: (_, ctx) => ctx.interrupt<string>({ reason: 'input' }),
  })
  const model = scriptedModel([
    { toolCalls: [{ name: 'ask', arguments: {} }], usage: usage(100) },
    { text: 'Thanks.', usage: usage(20) },
  ])
  const desk = runner({ agent: chatModelAgent({ name: 'a', model, tools: [ask] }) })
  const asked = await desk.run('Hi', { session })
  const [question] = asked.interrupts ?? []
  const answered = await desk.resume({ [question?.id ?? '']: 'yes' }, { session })
  expect([asked.usage, answered.usage]).toEqual([usage(100), usage(20)])
  // And its messages are those that came after the question.
  expect([asked, answered].map(({ messages }) => messages.map(({ role }) => role))).toEqual([
    ['assistant'],
    ['tool', 'assistant'],
  ])
})

test('the text of a branch that goes on after a question is that of the result it kept', async () => {
  const ask = defineTool({
    name: 'ask',
    description: 'Asks a person.',
    parameters: { type: 'object' },
    invoke: (_, ctx) => ctx.interrupt<string>({ reason: 'input' }),
  })
  const toolCalls = [{ name: 'respond', arguments: { response: 'Enough.' } }, { name: 'ask' }]
  const agent = (name: string, turns: Parameters<typeof scriptedModel>[0]) =>
    chatModelAgent({ name, model: scriptedModel(turns), tools: [ask, breakLoopTool()] })
  const both = parallel({ name: 'both', agents: [agent('other', ['Hm.']), agent('a', [{ toolCalls }])] })
  const desk = runner({ agent: both })
  const { interrupts = [] } = await desk.run('Hi', { session })
  const { text } = await desk.resume({ [interrupts[0]?.id ?? '']: 'yes' }, { session })
  expect(text).toBe('Enough.')
})

test('the messages of a result carry a conversation on without a thread', async () => {
  const transfer = { toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name: 'B' } }] }
  const seen: number[] = []
  const counting = (turns: Parameters<typeof scriptedModel>[0]) => {
    const model = scriptedModel(turns)
    return {
      ...model,
      stream: (request: Parameters<typeof model.stream>[0], options: Parameters<typeof model.stream>[1]) => {
        seen.push(request.messages.length)
        return model.stream(request, options)
      },
    }
  }
  const a = chatModelAgent({ name: 'A', model: counting([transfer, 'Again A.']) })
  const b = chatModelAgent({ name: 'B', model: counting(['I am B.']) })
  const desk = runner({ agent: setSubAgents(a, [b]) })
  const history: Message[] = [{ id: '1', role: 'user', content: 'Hi' }]
  const first = await desk.run({ messages: history })
  expect(first.messages.map(({ role, agentName }: Message & { agentName?: string }) => [role, agentName])).toEqual([
    ['assistant', 'A'],
    ['tool', 'A'],
    ['assistant', 'B'],
  ])
  history.push(...first.messages, { id: '2', role: 'user', content: 'And?' })
  expect((await desk.run({ messages: history })).text).toBe('Again A.')
  expect(seen.at(-1)).toBeGreaterThan(seen[0] ?? 0)
})
