import { EventType, type Tool } from '@ag-ui/core'
import { type AgUiAgentOptions, agUiHandler } from '@troupe/ag-ui'
import { defineTool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, test } from 'vitest'
import { ANN, Client, linesOf, PICK, replica, scripted } from './in-process-client.fixture.ts'

const PREFIXED = { clientTools: { prefix: 'page_' } } satisfies Partial<AgUiAgentOptions>
const call = (id: string, name: string) => ({ id, name, arguments: { from: ['red'] } })
const own = (name: string, result: string) =>
  defineTool({ name, description: 'Mine.', parameters: { type: 'object' }, invoke: () => result })
const shownNames = (value: unknown) => [...JSON.stringify(value).matchAll(/page_\w+/g)].map(([name]) => name)

describe('a prefix for the tools of a client', () => {
  test('is what the model sees; the client sees its own names everywhere', async () => {
    const store = memoryStore()
    const { agent, model } = scripted([{ toolCalls: [call('c1', 'page_pick_colour')] }, 'Red it is.'])
    const server = replica(agent, store, { ...PREFIXED, show: { messagesSnapshot: true } })
    const client = new Client(server)
    expect(await client.say('Pick', { tools: [PICK] })).toBe('success')
    expect(model.requests[0]?.tools).toMatchObject([{ name: 'page_pick_colour', parameters: PICK.parameters }])
    expect(client.pending).toEqual(['c1'])
    expect(client.seen).toContainEqual(
      expect.objectContaining({ type: EventType.TOOL_CALL_START, toolCallName: 'pick_colour' }),
    )
    const handler = agUiHandler({ agent: server, store, owner: { app: ANN.app, user: ANN.user } })
    const read = async (path: string) => (await handler(new Request(`http://localhost/threads/t1${path}`))).text()
    const thread = JSON.parse(await read(''))
    expect(thread.pendingToolCalls).toEqual([{ toolCallId: 'c1', name: 'pick_colour' }])
    client.result('c1', 'red')
    expect(await client.say(undefined, { tools: [PICK] })).toBe('success')
    expect(linesOf(model.requests[1]?.messages)).toEqual([
      'user Pick',
      'assistant -> page_pick_colour',
      'tool page_pick_colour: red',
    ])
    const pages = [await read(''), await read('/messages'), await read('/connect')]
    expect(pages.join()).toContain('pick_colour')
    expect(shownNames([client.seen, client.messages, pages])).toEqual([])
  })

  test('a tool of an agent with the same name is another tool, and the client does not run it', async () => {
    const turns = [{ toolCalls: [call('c1', 'pick_colour')] }, { toolCalls: [call('c2', 'page_pick_colour')] }, 'Done.']
    const { agent, model } = scripted(turns, [own('pick_colour', 'server')])
    const client = new Client(replica(agent, memoryStore(), PREFIXED))
    await client.say('Pick', { tools: [PICK] })
    expect(client.pending).toEqual(['c2'])
    const types = client.seen.flatMap((event) => ('toolCallId' in event && event.toolCallId === 'c1' ? event.type : []))
    expect(types.slice(-2)).toEqual([EventType.TOOL_CALL_END, EventType.TOOL_CALL_RESULT])
    const [end, result] = [EventType.TOOL_CALL_END, EventType.TOOL_CALL_RESULT].map((type) =>
      client.seen.findIndex((event) => event.type === type),
    )
    expect(result).toBe((end ?? 0) + 1)
    client.result('c2', 'red')
    await client.say(undefined, { tools: [PICK] })
    expect(linesOf(model.requests[2]?.messages).filter((line) => line.startsWith('tool'))).toEqual([
      'tool pick_colour: server',
      'tool page_pick_colour: red',
    ])
  })

  test('a tool of an agent with the prefixed name wins', async () => {
    const turns = [{ toolCalls: [call('c1', 'page_pick_colour')] }, 'Done.']
    const { agent, model } = scripted(turns, [own('page_pick_colour', 'server')])
    const client = new Client(replica(agent, memoryStore(), PREFIXED))
    expect(await client.say('Pick', { tools: [PICK] })).toBe('success')
    expect(client.pending).toEqual([])
    expect(linesOf(model.requests[1]?.messages).at(-1)).toBe('tool page_pick_colour: server')
  })

  test('a transfer tool of the client is one of its tools', async () => {
    const { agent, model } = scripted(['Hi.'])
    const mine = { ...PICK, name: 'transfer_to_agent' }
    await new Client(replica(agent, memoryStore(), PREFIXED)).say('Hi', { tools: [mine] })
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['page_transfer_to_agent'])
  })

  test('a name that is too long with it is refused, and the others stay', async () => {
    const { agent, model } = scripted(['Hi.'])
    const long: Tool = { ...PICK, name: 'x'.repeat(124) }
    const client = new Client(replica(agent, memoryStore(), PREFIXED))
    expect(await client.say('Hi', { tools: [long, { ...PICK, name: 'no name' }, PICK] })).toBe('success')
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['page_pick_colour'])
    const refused = client.seen.flatMap((event) =>
      event.type === EventType.CUSTOM && event.name === 'tool-refused' ? [event.value.message] : [],
    )
    expect(refused).toEqual([
      expect.stringContaining('tools[1].name'),
      expect.stringContaining('at most 123 characters'),
    ])
  })

  test('goes with a selection', async () => {
    const { agent, model } = scripted(['Hi.'])
    const clientTools = { prefix: 'page_', select: ({ name }: Tool) => name === PICK.name }
    const client = new Client(replica(agent, memoryStore(), { clientTools }))
    await client.say('Hi', { tools: [PICK, { ...PICK, name: 'steal' }] })
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['page_pick_colour'])
  })

  test('predicted state follows the names of the client', async () => {
    const { agent } = scripted([{ toolCalls: [call('c1', 'page_pick_colour')] }])
    const predictState = [{ tool: PICK.name, argument: 'from', stateKey: 'colours' }]
    const client = new Client(replica(agent, memoryStore(), { ...PREFIXED, show: { predictState } }))
    await client.say('Pick', { tools: [PICK] })
    expect(client.seen).toContainEqual(expect.objectContaining({ name: 'PredictState' }))
  })

  test.each(['page.', ' ', 'x'.repeat(33), 7])('%j is refused as one', (prefix) => {
    const { agent } = scripted(['Hi.'])
    const options = { clientTools: { prefix: prefix as string } }
    expect(() => replica(agent, memoryStore(), options)).toThrow(/clientTools.prefix/)
  })
})
