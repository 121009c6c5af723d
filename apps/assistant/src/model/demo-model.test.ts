import type { Message, ModelPart, ModelRequest, ToolSpec } from '@troupe/kernel'
import { describe, expect, it, test } from 'vitest'
import { demoModel } from './demo-model.ts'
import { nextStep } from './demo-steps.ts'

const tool = (name: string): ToolSpec => ({ name, description: '', parameters: { type: 'object' } })
const transfer = (...names: string[]): ToolSpec => ({
  name: 'transfer_to_agent',
  description: '',
  parameters: { type: 'object', properties: { agent_name: { type: 'string', enum: names } } },
})
const ROUTER = [transfer('ChatAgent', 'WeatherAgent'), tool('codebase_investigator'), tool('set_theme')]
const WEATHER = [transfer('RouterAgent'), tool('get_weather'), tool('set_theme')]
const FERRY = ['ferries_departures', 'ferries_book_ferry'].map(tool)
const CHAT = ['send_postcard', 'add_to_packing_list', 'read_packing_list'].map(tool)

function request(question: string, tools: readonly ToolSpec[], ...more: Message[]): ModelRequest {
  const messages: Message[] = [{ id: 'u', role: 'user', content: question }, ...more]
  return { instruction: '', messages, tools, options: {}, step: 'model:0', idempotencyKey: 'k' }
}

function result(name: string, content: string): Message {
  return { id: name, role: 'tool', callId: name, name, content }
}

describe('the demo model', () => {
  test.each([
    ['What’s the weather in Lisbon?', ROUTER, 'transfer_to_agent', { agent_name: 'WeatherAgent' }],
    ['What’s the weather in New York?', WEATHER, 'get_weather', { city: 'New York' }],
    ['Hello', ROUTER, 'transfer_to_agent', { agent_name: 'ChatAgent' }],
    ['Hello', WEATHER, 'transfer_to_agent', { agent_name: 'RouterAgent' }],
    ['Make the page dark', ROUTER, 'set_theme', { theme: 'dark' }],
    ['Make the page light', WEATHER, 'set_theme', { theme: 'light' }],
    ['Where in the code is x?', ROUTER, 'codebase_investigator', { objective: 'Where in the code is x?' }],
    ['What is on my list?', CHAT, 'read_packing_list', {}],
    ['Send Ada a postcard from Lisbon', CHAT, 'send_postcard', expect.objectContaining({ to: 'Ada', place: 'Lisbon' })],
    ['Which ferries go to Vitsund?', FERRY, 'ferries_departures', { to: 'Vitsund' }],
    ['Book a ferry to Skarholm for two', FERRY, 'ferries_book_ferry', { to: 'Skarholm', people: 2 }],
    ['Book a ferry to Skarholm for two', [tool('search_tools')], 'search_tools', { query: 'ferries book ferry' }],
    ['Hello', [transfer('RouterAgent'), tool('search_tools')], 'transfer_to_agent', { agent_name: 'RouterAgent' }],
    ['Book a ferry', WEATHER, 'transfer_to_agent', { agent_name: 'RouterAgent' }],
    ['Pack for rain', CHAT, 'add_to_packing_list', { items: expect.arrayContaining(['Rain jacket', 'Passport']) }],
  ])('%s', (question, tools, name, args) => {
    expect(nextStep(request(question, tools)).call).toEqual({ name, args })
  })

  it('says what it is where it can do nothing else', () => {
    expect(nextStep(request('Hello', CHAT)).text).toContain('demo model without a key')
    expect(nextStep(request('Send a postcard', [])).text).toContain('demo model')
    expect(nextStep(request('How is the weather?', WEATHER)).text).toContain('In which city?')
  })

  it('transfers to an agent that the question names, and an agent does not transfer straight back', () => {
    const router = [transfer('ChatAgent', 'PoemAgent', 'WeatherAgent')]
    const target = { name: 'transfer_to_agent', args: { agent_name: 'PoemAgent' } }
    expect(nextStep(request('Write me a poem', router)).call).toEqual(target)
    const context: Message = { id: 'c', role: 'user', content: 'For context: [RouterAgent] called tool: …' }
    const given = request('Write me a poem', [transfer('RouterAgent')], context)
    expect(nextStep(given).text).toContain('demo model')
  })

  it('tells the result of a call, and calls nothing twice', () => {
    const step = nextStep(request('Make the page dark', ROUTER, result('set_theme', 'The page is dark now.')))
    expect(step).toEqual({ text: 'The page is dark now.' })
  })

  it('calls the tool that it has searched for, and searches once', () => {
    const searched = result('search_tools', 'ferries_book_ferry: Books a ferry.')
    const found = request('Book a ferry to Skarholm for two', [tool('search_tools'), ...FERRY], searched)
    expect(nextStep(found).call?.name).toBe('ferries_book_ferry')
    const missing = request('Book a ferry to Skarholm for two', [tool('search_tools')], searched)
    expect(nextStep(missing).text).toContain('demo model')
  })

  it('takes a refusal for an answer', () => {
    const refused = { ...result('send_postcard', 'No.'), error: { code: 'TOOL_REFUSED', message: 'No.' } } as Message
    expect(nextStep(request('Send Ada a postcard', CHAT, refused))).toEqual({ text: 'All right, I have not sent it.' })
  })

  it('investigates: searches for the declaration, reads there, hands in what it found', () => {
    const tools = ['search_files', 'read_file', 'complete_task'].map(tool)
    const ask = (...more: Message[]) => nextStep(request('Where is defineTool?', tools, ...more)).call
    const found = result('search_files', 'src/tool.ts:7: export function defineTool()')
    expect(ask()).toEqual({ name: 'search_files', args: { text: 'function defineTool' } })
    expect(ask(found)).toEqual({ name: 'read_file', args: { path: 'src/tool.ts', from: 7 } })
    expect(ask(found, result('read_file', '…'))).toEqual({
      name: 'complete_task',
      args: { result: expect.stringContaining('src/tool.ts:7') },
    })
    const nothing = result('search_files', 'Nothing contains "x".')
    expect(ask(nothing)).toEqual({ name: 'search_files', args: { text: 'defineTool' } })
    expect(ask(nothing, nothing)).toEqual({ name: 'complete_task', args: { result: 'Nothing contains "x".' } })
  })

  it('streams word by word, counts tokens, and stops when it is told to', async () => {
    const parts: ModelPart[] = []
    const controller = new AbortController()
    const { signal } = controller
    for await (const part of demoModel({ wordDelayMs: 0 }).stream(request('Hello', CHAT), { signal })) parts.push(part)
    expect(parts.slice(0, 2)).toEqual([
      { type: 'text-delta', delta: 'I ' },
      { type: 'text-delta', delta: 'am ' },
    ])
    expect(parts.at(-1)).toMatchObject({ type: 'finish', reason: 'stop', usage: { inputTokens: 2 } })
    const slow = demoModel({ wordDelayMs: 10_000 }).stream(request('Hello', CHAT), { signal })
    const reading = (async () => {
      for await (const _ of slow) return 'a word'
    })()
    controller.abort(new Error('enough'))
    await expect(reading).rejects.toThrow('enough')
  })
})
