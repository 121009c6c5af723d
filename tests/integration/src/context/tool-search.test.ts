import { chatModelAgent, exitTool } from '@troupe/chat-model'
import { compaction, offload, toolSearch } from '@troupe/context'
import { runner, setSubAgents } from '@troupe/flow'
import { type AgentEvent, type AgentHandler, defineTool, type Tool, textOf, withTools } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { ANN, factKeeper, messagesOf, talk } from './talk.fixture.ts'

const session = { session: ANN }
const THINGS = ['invoice', 'customer', 'ferry', 'parcel', 'ticket', 'calendar', 'weather', 'photo', 'recipe', 'meeting']
const DEEDS = [
  'create',
  'delete',
  'find',
  'list',
  'update',
  'archive',
  'share',
  'print',
  'export',
  'rename',
  'copy',
  'move',
  'lock',
  'sign',
  'tag',
  'merge',
  'split',
  'check',
  'order',
  'book',
]

/** 200 tools, as several servers have them. */
const TOOLS: readonly Tool[] = THINGS.flatMap((thing) =>
  DEEDS.map((deed) =>
    defineTool({
      name: `${deed}_${thing}`,
      description: `${deed[0]?.toUpperCase()}${deed.slice(1)}s a ${thing} of the office, with all that belongs to it, and tells what has changed.`,
      parameters: { type: 'object', properties: { [`${thing}Id`]: { type: 'string' }, note: { type: 'string' } } },
      invoke: () => `${deed} ${thing}: done`,
    }),
  ),
)

const search = (query: string) => ({ toolCalls: [{ name: 'search_tools', arguments: { query } }] })
const names = (request: { readonly tools: readonly { readonly name: string }[] } | undefined) =>
  request?.tools.map(({ name }) => name)

describe('an agent with 200 tools', () => {
  it('shows at most 1 kB of definitions until it has searched', async () => {
    const model = scriptedModel(['Hi.'])
    await talk(model, [toolSearch()], { tools: TOOLS }).query('Hello', session)
    const definitions = JSON.stringify(model.requests[0]?.tools)
    expect(names(model.requests[0])).toEqual(['search_tools'])
    expect(Buffer.byteLength(definitions)).toBeLessThanOrEqual(1_024)
  })

  it('loads what it finds, to the end of the list, and keeps it for the runs that follow', async () => {
    const store = memoryStore()
    const model = scriptedModel([search('book a ferry'), { toolCalls: [{ name: 'book_ferry' }] }, 'Booked.'])
    const events: AgentEvent[] = []
    for await (const event of talk(model, [toolSearch({ limit: 2 })], { store, tools: TOOLS }).query('Ferry?', session))
      events.push(event)
    const [, loaded] = model.requests.map(names)
    expect(loaded?.slice(0, 2)).toEqual(['search_tools', 'book_ferry'])
    expect(loaded).toHaveLength(3)
    expect(model.requests[2]?.tools).toBe(model.requests[1]?.tools)
    expect(textOf((await messagesOf(store))[4]?.content ?? '')).toBe('book ferry: done')
    expect(events.filter(({ type }) => type === 'custom')).toMatchObject([
      { name: 'tools-loaded', data: { query: 'book a ferry', names: loaded?.slice(1) } },
    ])

    const later = scriptedModel([search('weather check'), search('book ferry'), 'Done.'])
    await talk(later, [toolSearch({ limit: 2 })], { store, tools: TOOLS }).query('Weather?', session)
    expect(names(later.requests[0])).toEqual(loaded)
    expect(names(later.requests[1])?.slice(0, 3)).toEqual(loaded)
    expect(names(later.requests[1])).toContain('check_weather')
    // What is loaded already is not loaded again.
    expect(names(later.requests[2])).toEqual(names(later.requests[1]))
  })

  it('finds a tool by its name, its words, its parameters and with a slip', async () => {
    const queries = ['archive_recipe', 'Delete Invoice', 'parcelId', 'calender print', 'xyzzy']
    const model = scriptedModel([...queries.map(search), 'Done.'])
    const store = memoryStore()
    await talk(model, [toolSearch({ limit: 1 })], { store, tools: TOOLS }).query('Go', session)
    const results = (await messagesOf(store)).flatMap((message) =>
      message.role === 'tool' ? [textOf(message.content).split(':')[0]] : [],
    )
    expect(results[0]).toBe('archive_recipe')
    expect(results[1]).toBe('delete_invoice')
    expect(results[2]).toMatch(/_parcel$/)
    expect(results[3]).toBe('print_calendar')
    expect(results[4]).toBe('No tool matches "xyzzy". Try other words.')
  })

  it('always shows what it is told to, what steers the run, and a tool that the call has to use', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name: 'other' } }] }])
    const other = scriptedModel(['Hi.'])
    const agent = chatModelAgent({
      name: 'guide',
      model,
      tools: TOOLS,
      exit: exitTool(),
      modelOptions: { toolChoice: { tool: 'sign_ticket' } },
      handlers: [toolSearch({ always: ['find_photo'] })],
    })
    await runner({
      agent: setSubAgents(agent, [chatModelAgent({ name: 'other', description: 'x', model: other })]),
    }).query('Go', session)
    expect(names(model.requests[0])).toEqual(['find_photo', 'exit', 'transfer_to_agent', 'search_tools', 'sign_ticket'])
  })

  it('leaves a tool out that is gone, and has it at its place when it is back', async () => {
    const store = memoryStore()
    const loading = scriptedModel([search('book ferry'), search('check weather'), 'Done.'])
    const handler = toolSearch({ limit: 1 })
    await talk(loading, [handler], { store, tools: TOOLS }).query('Go', session)
    const without = TOOLS.filter(({ name }) => name !== 'book_ferry')
    for (const [tools, expected] of [
      [without, ['search_tools', 'check_weather']],
      [TOOLS, ['search_tools', 'book_ferry', 'check_weather']],
    ] as const) {
      const model = scriptedModel(['Hi.'])
      await talk(model, [handler], { store, tools }).query('Go', session)
      expect(names(model.requests[0])).toEqual(expected)
    }
  })

  it('takes the tools that handlers before it have added, and does nothing for few', async () => {
    const model = scriptedModel(['Hi.'])
    await talk(model, [withTools(...TOOLS), toolSearch()]).query('Go', session)
    expect(names(model.requests[0])).toEqual(['search_tools'])
    const few = scriptedModel(['Hi.'])
    await talk(few, [withTools(...TOOLS.slice(0, 19)), toolSearch()]).query('Go', {
      session: { ...ANN, threadId: 't2' },
    })
    expect(few.requests[0]?.tools).toHaveLength(19)
  })

  it.each([
    ['before', (...[offloading, compacting, searching]: AgentHandler[]) => [searching, offloading, compacting]],
    ['after', (...[offloading, compacting, searching]: AgentHandler[]) => [offloading, compacting, searching]],
  ])('shows the tools that read what was put away, also %s the handlers that have them', async (_, order) => {
    const store = memoryStore()
    const report = defineTool({
      name: 'report',
      description: '',
      parameters: { type: 'object' },
      invoke: () => 'x'.repeat(2_000),
    })
    const usage = { inputTokens: 900, outputTokens: 1 }
    const model = scriptedModel([{ toolCalls: [{ name: 'report' }] }, { text: 'x'.repeat(400), usage }, 'Done.'])
    const handlers = order(
      offload({ store, maxChars: 1_000 }),
      compaction({ model: factKeeper(), maxTokens: 500, keepTokens: 10, store }),
      toolSearch({ always: ['report'] }),
    ).filter((handler) => handler !== undefined)
    const desk = talk(model, handlers, { store, tools: [...TOOLS, report] })
    await desk.query('Report, please.', session)
    await desk.query('And now?', session)
    expect(model.requests.map((request) => names(request)?.toSorted())).toEqual([
      ['report', 'search_tools'],
      ['read_result', 'report', 'search_tools'],
      ['read_history', 'read_result', 'report', 'search_tools'],
    ])
  })

  it.each([[{ a: 1 }], [[1]], ['book_ferry'], [['exec', 'book_ferry']]])(
    'ignores what a client has written: %j',
    async (value) => {
      const model = scriptedModel(['Hi.'])
      const desk = talk(model, [toolSearch()], { tools: TOOLS })
      await desk.run(
        { messages: [{ role: 'user', content: 'Go' }], state: { set: { 'context:tools:guide': value } } },
        session,
      )
      const loaded = Array.isArray(value) && value[0] === 'exec' ? ['book_ferry'] : []
      expect(names(model.requests[0])).toEqual(['search_tools', ...loaded])
    },
  )
})
