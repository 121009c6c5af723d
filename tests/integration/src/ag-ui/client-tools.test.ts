import { EventType } from '@ag-ui/core'
import { setSubAgents } from '@troupe/flow'
import { defineTool } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { describe, expect, test } from 'vitest'
import {
  ANN,
  Client,
  linesOf,
  PICK,
  picking,
  replica,
  STORES,
  scripted,
  storedLines,
} from './in-process-client.fixture.ts'

describe.each(STORES)('工具支持: a tool of the client, %s', (_, makeStore) => {
  test('is called, run by the client and answered; the model goes on', async () => {
    await using store = makeStore()
    const { agent, model } = scripted([picking('c1'), 'Red it is.'])
    const client = new Client(replica(agent, store))
    expect(await client.say('Pick', { tools: [PICK] })).toBe('success')
    expect(client.pending).toEqual(['c1'])
    expect(model.requests[0]?.tools).toMatchObject([{ name: 'pick_colour', parameters: PICK.parameters }])
    client.result('c1', 'red')
    expect(await client.say(undefined, { tools: [PICK] })).toBe('success')
    expect([client.text, client.pending]).toEqual(['Red it is.', []])
    expect(linesOf(model.requests[1]?.messages)).toEqual([
      'user Pick',
      'assistant -> pick_colour',
      'tool pick_colour: red',
    ])
    expect((await store.threads.get(ANN))?.openCalls).toEqual([])
  })

  test('its call is stored before the client sees its end', async () => {
    await using store = makeStore()
    const { agent } = scripted([picking('c1')])
    const seen: unknown[] = []
    const input = {
      threadId: 't1',
      runId: 'r1',
      messages: [{ id: 'u1', role: 'user', content: 'Pick' }],
      tools: [PICK],
      context: [],
    }
    for await (const { type } of replica(agent, store).run(input)) {
      if (type === EventType.TOOL_CALL_START) seen.push((await store.threads.get(ANN))?.openCalls)
      if (type === EventType.TOOL_CALL_END) seen.push((await store.threads.get(ANN))?.openCalls)
    }
    expect(seen).toEqual([[], [{ callId: 'c1', name: 'pick_colour', agentName: 'Desk' }]])
  })

  test('several calls: the model goes on when all are answered, one by one, on any replica', async () => {
    await using store = makeStore()
    const { agent, model } = scripted([picking('c1', 'c2', 'c3'), 'Done.'])
    const client = new Client(replica(agent, store))
    await client.say('Pick', { tools: [PICK] })
    expect(client.pending).toEqual(['c1', 'c2', 'c3'])
    client.result('c2', 'blue')
    client.server = replica(agent, store)
    expect(await client.say()).toBe('success')
    expect(model.requests).toHaveLength(1)
    client.result('c3', 'red')
    client.result('c1', 'green')
    client.server = replica(agent, store)
    expect(await client.say()).toBe('success')
    expect([client.text, model.requests.length]).toEqual(['Done.', 2])
    expect(linesOf(model.requests[1]?.messages).slice(2)).toEqual([
      'tool pick_colour: green',
      'tool pick_colour: blue',
      'tool pick_colour: red',
    ])
  })

  test('belongs to its run: the next run does not have it', async () => {
    await using store = makeStore()
    const { agent, model } = scripted(['Hi.', 'Hi again.'])
    const client = new Client(replica(agent, store))
    await client.say('one', { tools: [PICK] })
    await client.say('two')
    expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['pick_colour'], []])
  })
})

describe('工具合并策略: names that are taken', () => {
  test('a tool of the server wins', async () => {
    const own = defineTool({
      name: 'pick_colour',
      description: 'Mine.',
      parameters: { type: 'object' },
      invoke: () => 'server',
    })
    const { agent, model } = scripted([picking('c1'), 'Done.'], [own])
    const [, makeStore] = STORES[0] as (typeof STORES)[0]
    await using store = makeStore()
    const client = new Client(replica(agent, store))
    expect(await client.say('Pick', { tools: [PICK] })).toBe('success')
    expect(linesOf(model.requests[1]?.messages).at(-1)).toBe('tool pick_colour: server')
    expect(client.pending).toEqual([])
  })

  test('transfer_to_agent stays what it is, also where there is no agent to transfer to', async () => {
    const mine = { ...PICK, name: 'transfer_to_agent' }
    const [, makeStore] = STORES[0] as (typeof STORES)[0]
    await using store = makeStore()
    const alone = scripted(['Hi.'])
    await new Client(replica(alone.agent, store), 'alone').say('Hi', { tools: [mine] })
    expect(alone.model.requests[0]?.tools).toEqual([])
    const root = scripted([{ toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name: 'Leaf' } }] }])
    const leaf = scripted(['I am Leaf.'], [], 'Leaf')
    const client = new Client(replica(setSubAgents(root.agent, [leaf.agent]), store))
    await client.say('Hi', { tools: [mine, PICK] })
    expect(client.text).toBe('I am Leaf.')
    expect(leaf.model.requests[0]?.tools.map(({ name }) => name)).toContain('pick_colour')
  })
})

describe('工具结果提交: results that do not fit', () => {
  async function waiting(...turns: Parameters<typeof scripted>[0]) {
    const store = (STORES[1] as (typeof STORES)[0])[1]()
    const { agent, model } = scripted([picking('c1', 'c2'), ...turns])
    const client = new Client(replica(agent, store))
    await client.say('Pick', { tools: [PICK] })
    return { store, client, model, agent }
  }

  test('a result twice counts once, in one request and in two', async () => {
    const { store, client, model } = await waiting('Done.')
    client.result('c1', 'red')
    client.result('c1', 'blue')
    await client.say()
    client.result('c1', 'green')
    expect(await client.say()).toBe('success')
    client.result('c2', 'white')
    await client.say()
    expect(client.text).toBe('Done.')
    expect(linesOf(model.requests[1]?.messages).slice(2)).toEqual(['tool pick_colour: red', 'tool pick_colour: white'])
    await store[Symbol.asyncDispose]()
  })

  test('a late one, after the turn, is a bare start and finish', async () => {
    const { store, client, model } = await waiting('Done.')
    client.result('c1', 'red')
    client.result('c2', 'blue')
    await client.say()
    const before = await storedLines(store)
    client.result('c1', 'late')
    expect(await client.say()).toBe('success')
    expect([client.text, model.requests.length, await storedLines(store)]).toEqual(['', 2, before])
    await store[Symbol.asyncDispose]()
  })

  test('one for a call that this thread never made is TOOL_CALL_UNKNOWN, and nothing changes', async () => {
    const { store, client } = await waiting()
    const before = await store.threads.get(ANN)
    client.result('elsewhere', 'x')
    expect(await client.say()).toBe('TOOL_CALL_UNKNOWN')
    expect(await store.threads.get(ANN)).toEqual(before)
    await store[Symbol.asyncDispose]()
  })

  test('beside one that counts it is passed over', async () => {
    const { store, client } = await waiting('Done.')
    client.result('elsewhere', 'x')
    client.result('c1', 'red')
    client.result('c2', 'blue')
    expect([await client.say(), client.text]).toEqual(['success', 'Done.'])
    await store[Symbol.asyncDispose]()
  })

  test('of another user it changes nothing, and looks as if there were no such call', async () => {
    const { store, client, agent } = await waiting()
    const eve = new Client(replica(agent, store, { userId: 'eve' }))
    eve.result('c1', 'stolen')
    expect(await eve.say()).toBe('TOOL_CALL_UNKNOWN')
    expect((await store.threads.get(ANN))?.openCalls).toHaveLength(2)
    expect(await store.threads.get({ ...ANN, user: 'eve' })).toBeUndefined()
    expect(client.pending).toHaveLength(2)
    await store[Symbol.asyncDispose]()
  })
})

describe('user text while calls are open', () => {
  test('is PENDING_TOOL_CALLS and changes nothing; it counts once they are answered', async () => {
    const store = (STORES[1] as (typeof STORES)[0])[1]()
    const { agent, model } = scripted([picking('c1'), 'Done.'])
    const client = new Client(replica(agent, store))
    await client.say('Pick', { tools: [PICK] })
    const before = await store.threads.get(ANN)
    expect(await client.say('Hello?')).toBe('PENDING_TOOL_CALLS')
    expect(await store.threads.get(ANN)).toEqual(before)
    client.result('c1', 'red')
    expect(await client.say()).toBe('success')
    expect(linesOf(model.requests[1]?.messages)).toEqual([
      'user Pick',
      'assistant -> pick_colour',
      'tool pick_colour: red',
      'user Hello?',
    ])
    await store[Symbol.asyncDispose]()
  })

  test('drops them where that is wished', async () => {
    const store = (STORES[1] as (typeof STORES)[0])[1]()
    const { agent, model } = scripted([picking('c1'), 'Never mind.'])
    const client = new Client(replica(agent, store, { pending: 'drop' }))
    await client.say('Pick', { tools: [PICK] })
    expect(await client.say('Hello?')).toBe('success')
    expect(linesOf(model.requests[1]?.messages).slice(2)).toEqual([
      `tool pick_colour: ${UNKNOWN_RESULT}`,
      'user Hello?',
    ])
    await store[Symbol.asyncDispose]()
  })
})
