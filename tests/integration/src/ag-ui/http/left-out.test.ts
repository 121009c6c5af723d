import { HttpAgent } from '@ag-ui/client'
import { EventType } from '@ag-ui/core'
import { type AgUiEvent, type AgUiHandlerOptions, agUiHandler, type Omissible } from '@troupe/ag-ui'
import { strictVerifier } from '@troupe/ag-ui/verify'
import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, runner } from '@troupe/flow'
import { type Agent, defineTool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'

const OWNER = { app: 'test', user: 'ann' }
const PLACE = '{"city":"Oslo"}'
const output = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const look = defineTool({ name: 'look', description: 'Looks', parameters: { type: 'object' }, invoke: () => 'seen' })
const ask = defineTool({
  name: 'ask',
  description: 'Asks',
  parameters: { type: 'object' },
  invoke: async (_, ctx) => String(await ctx.interrupt({ reason: 'input' })),
})

/** An agent with structured output that thinks, looks and answers. */
function guide(turns: readonly ScriptedTurn[], tools = [look, ask]): Agent {
  return chatModelAgent({ name: 'guide', model: scriptedModel(turns), tools, output, retry: false })
}

/** A server, and a client that keeps what it has seen. */
function served(agent: Agent, options: Partial<AgUiHandlerOptions> = {}) {
  const store = memoryStore()
  const flow = runner({ agent, store, report: () => {} })
  const handler = agUiHandler({ runner: flow, store, owner: OWNER, report: () => {}, ...options } as AgUiHandlerOptions)
  const seen: AgUiEvent[] = []
  const client = new HttpAgent({
    url: 'http://localhost/',
    threadId: 't',
    fetch: (url, init) => handler(new Request(url, init)),
  })
  return {
    client,
    seen,
    async say(text: string, more: Parameters<HttpAgent['runAgent']>[0] = {}) {
      client.addMessage({ id: text, role: 'user', content: text })
      seen.length = 0
      const verifier = strictVerifier({ messages: client.messages as never })
      const onEvent = ({ event }: { event: unknown }) => {
        verifier.see(event as AgUiEvent)
        seen.push(event as AgUiEvent)
      }
      await client.runAgent(more, { onEvent })
      verifier.end()
      return seen.at(-1)
    },
    async listed() {
      const response = await handler(new Request('http://localhost/threads/t/messages'))
      return ((await response.json()) as { messages: readonly { id: string }[] }).messages
    },
    async connected() {
      const text = await (await handler(new Request('http://localhost/threads/t/connect?protocolVersion=1.0'))).text()
      const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as AgUiEvent)
      return events.flatMap((event) => (event.type === EventType.MESSAGES_SNAPSHOT ? event.messages : []))
    },
  }
}

const roles = (messages: readonly object[]) =>
  messages.map((message) => {
    const { role, content } = message as { role: string; content?: unknown }
    return content === undefined ? role : `${role} ${String(content)}`
  })

const TURNS: readonly ScriptedTurn[] = [
  { reasoning: ['Where?'], text: ['I ', 'look.'], toolCalls: [{ id: 'c1', name: 'look' }] },
  { reasoning: ['There.'], text: ['{"city":', '"Oslo"}'] },
]

describe('structured output', () => {
  test('is text by default', async () => {
    const { say, client } = served(guide(TURNS))
    expect(await say('Where am I')).toMatchObject({ result: { city: 'Oslo' } })
    expect(roles(client.messages).at(-1)).toBe(`assistant ${PLACE}`)
  })

  test('is left out of a run, of its snapshot and of the history, and comes as the result', async () => {
    const { say, seen, client, listed, connected } = served(guide(TURNS), {
      show: { omit: ['structured-output'], messagesSnapshot: true },
      assumedVersion: '1.0',
    })
    expect(await say('Where am I')).toMatchObject({ outcome: { type: 'success' }, result: { city: 'Oslo' } })
    const whole = ['user Where am I', 'reasoning Where?', 'assistant I look.', 'tool seen', 'reasoning There.']
    expect(roles(client.messages)).toEqual(whole)
    expect(JSON.stringify(seen.slice(0, -1))).not.toContain('Oslo')
    expect(roles(await listed())).toEqual(whole)
    expect(roles(await connected())).toEqual(whole)
  })

  test.each([
    ['an answer that had to be corrected', ['{"town":"Oslo"}', PLACE]],
    ['a retried model', [{ text: ['{"ci'], error: { at: 'mid', error: new Error('down') } }, PLACE]],
  ] satisfies [string, ScriptedTurn[]][])('leaves nothing behind of %s', async (_, turns) => {
    const model = scriptedModel(turns)
    const agent = chatModelAgent({ name: 'guide', model, fallbacks: [model], output, retry: false })
    const { say, seen, client, listed } = served(agent, { show: { omit: ['structured-output'] } })
    expect(await say('Where am I')).toMatchObject({ result: { city: 'Oslo' } })
    expect(roles(client.messages)).toEqual(['user Where am I'])
    expect(roles(await listed())).toEqual(['user Where am I'])
    expect(seen.map(({ type }) => type).filter((type) => type.startsWith('TEXT'))).toEqual([])
  })

  test('stays left out when it breaks off, and the next request answers', async () => {
    const torn = { text: ['{"city":"Os'], error: { at: 'mid', error: new Error('down') } } as const
    const { say, client, listed } = served(guide([torn, PLACE]), { show: { omit: ['structured-output'] } })
    await say('Where am I').catch(() => undefined)
    expect(roles(await listed())).toEqual(['user Where am I'])
    const { result } = await client.runAgent()
    expect(result).toEqual({ city: 'Oslo' })
  })

  test('of an agent in a call is left out too, and is the result of that call', async () => {
    const inner = chatModelAgent({ name: 'guide', description: 'Finds.', model: scriptedModel([PLACE]), output })
    const model = scriptedModel([
      { toolCalls: [{ id: 'c1', name: 'guide', arguments: { request: 'Find' } }] },
      'You are in Oslo.',
    ])
    const outer = chatModelAgent({ name: 'desk', model, tools: [agentTool(inner, { forward: true })] })
    const { say, seen, client } = served(outer, { show: { omit: ['structured-output'] }, assumedVersion: '1.0' })
    await say('Where am I')
    const texts = seen.flatMap((event) => (event.type === EventType.TEXT_MESSAGE_CONTENT ? [event.delta] : []))
    expect(texts.join('')).toBe('You are in Oslo.')
    expect(seen).toContainEqual(
      expect.objectContaining({ type: EventType.SUBAGENT_FINISHED, result: { city: 'Oslo' } }),
    )
    expect(roles(client.messages).slice(-2)).toEqual([`tool ${PLACE}`, 'assistant You are in Oslo.'])
  })

  test('is left out by request', async () => {
    const show: AgUiHandlerOptions['show'] = ({ forwardedProps }) =>
      (forwardedProps as { raw?: boolean } | undefined)?.raw ? {} : { omit: ['structured-output'] }
    const { say, client, listed } = served(guide([PLACE, PLACE]), { show })
    await say('One')
    await say('Two', { forwardedProps: { raw: true } })
    expect(roles(client.messages)).toEqual(['user One', 'user Two', `assistant ${PLACE}`])
    expect(roles(await listed())).toEqual(['user One', 'user Two'])
  })
})

describe.each([
  [[], ['user Go', 'reasoning Where?', 'assistant I look.', 'tool seen', 'assistant']],
  [['reasoning'], ['user Go', 'assistant I look.', 'tool seen', 'assistant']],
  [['activities'], ['user Go', 'reasoning Where?', 'assistant I look.', 'tool seen', 'assistant']],
  [['subagents'], ['user Go', 'reasoning Where?', 'assistant I look.', 'tool seen', 'assistant']],
  [
    ['reasoning', 'activities', 'subagents', 'structured-output'],
    ['user Go', 'assistant I look.', 'tool seen', 'assistant'],
  ],
] satisfies [Omissible[], string[]][])('without %j', (omit, expected) => {
  test('a run that asks shows its whole history, and so do the pages that join it', async () => {
    const asking: ScriptedTurn[] = [TURNS[0] as ScriptedTurn, { toolCalls: [{ id: 'c2', name: 'ask' }] }]
    const { say, seen, client, listed, connected } = served(guide(asking), { show: { omit }, assumedVersion: '1.0' })
    expect(await say('Go')).toMatchObject({ outcome: { type: 'interrupt' } })
    const snapshots = seen.flatMap((event) => (event.type === EventType.MESSAGES_SNAPSHOT ? [event.messages] : []))
    expect(snapshots.map(roles)).toEqual([expected])
    expect(roles(client.messages)).toEqual(expected)
    expect(roles(await listed())).toEqual(expected)
    expect(roles(await connected())).toEqual(expected)
  })
})

test('a message beside an answer is in the history while another question is open', async () => {
  const two = { toolCalls: [{ id: 'c1', name: 'ask' }] }
  const twice: ScriptedTurn[] = [two, { toolCalls: [{ id: 'c2', name: 'ask' }] }, 'Done.']
  const again = defineTool({
    name: 'ask',
    description: 'Asks twice',
    parameters: { type: 'object' },
    async invoke(_, ctx) {
      const first = await ctx.interrupt({ reason: 'input', message: 'First?' })
      return `${String(first)} ${String(await ctx.interrupt({ reason: 'input', message: 'Second?' }))}`
    },
  })
  const agent = chatModelAgent({ name: 'desk', model: scriptedModel(twice), tools: [again] })
  const { say, client, listed, connected } = served(agent)
  await say('Go')
  const [open] = client.pendingInterrupts
  await say('Beside', { resume: [{ interruptId: open?.id ?? '', status: 'resolved', payload: 'a' }] })
  expect(roles(await connected())).toEqual(['user Go', 'assistant', 'user Beside'])
  expect(roles(await listed())).toEqual(['user Go', 'assistant', 'user Beside'])
})
