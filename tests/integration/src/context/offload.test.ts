import { chatModelAgent } from '@troupe/chat-model'
import { offload } from '@troupe/context'
import { agentTool, runner } from '@troupe/flow'
import { defineTool, type FullStore, type Json, type Tool, textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { startRun } from '@troupe/kernel/run'
import { sqliteStore } from '@troupe/store-sqlite'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { ANN, messagesOf, talk } from './talk.fixture.ts'

const session = { session: ANN }
const LOG = Array.from(
  { length: 2_000 },
  (_, i) => `line ${i}: ${i === 1_234 ? 'Disk failure 🚀' : 'all is well'}`,
).join('\n')
const readLog = defineTool({ name: 'read_log', description: '', parameters: { type: 'object' }, invoke: () => LOG })

const call = (name: string, args: { readonly [key: string]: Json } = {}): ScriptedTurn => ({
  toolCalls: [{ id: name === 'read_log' ? 'log-1-of-2025' : `${name}-${JSON.stringify(args)}`, name, arguments: args }],
})

/** The results of a thread, by tool. */
async function results(store: FullStore, name: string, ref = ANN) {
  return (await messagesOf(store, ref)).flatMap((message) =>
    message.role === 'tool' && message.name === name ? [message] : [],
  )
}

const stores: readonly (readonly [string, () => FullStore])[] = [
  ['memoryStore', () => memoryStore()],
  ['sqliteStore', () => sqliteStore({ path: ':memory:' })],
]

describe.each(stores)('a large result, with %s', (_, open) => {
  it('is seen by its beginning, and read by parts, in this run and in the next', async () => {
    await using store = open()
    const id = 'log-1-of-2025'
    const model = scriptedModel([
      call('read_log'),
      call('read_result', { id, from: 1_000 }),
      call('read_result', { id, find: 'disk FAILURE' }),
      'Line 1234.',
    ])
    const handlers = [offload({ store, maxChars: 5_000, previewChars: 100 })]
    await talk(model, handlers, { store, tools: [readLog] }).query('What is wrong?', session)
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['read_log'])
    expect(model.requests[1]?.tools.map(({ name }) => name)).toEqual(['read_log', 'read_result'])
    const [preview] = await results(store, 'read_log')
    expect(preview?.content).toBe(
      `${LOG.slice(0, 100)}\n[This is the beginning of a result of ${LOG.length} characters. Read parts of it with read_result, id "${id}".]`,
    )
    const [part, found] = (await results(store, 'read_result')).map(({ content }) => textOf(content))
    expect(part).toBe(`${LOG.slice(1_000, 5_940)}\n[${LOG.length - 5_940} characters follow, from 5940 on.]`)
    expect(found).toMatch(/^at \d+: …[\s\S]*line 1234: Disk failure 🚀[\s\S]*…$/)

    const next = scriptedModel([
      call('read_result', { id, from: LOG.length - 10 }),
      call('read_result', { id: 'x' }),
      'Well.',
    ])
    await talk(next, handlers, { store, tools: [readLog] }).query('How does it end?', session)
    const [end, unknown] = (await results(store, 'read_result')).slice(2)
    expect(end?.content).toBe(LOG.slice(-10))
    expect(unknown?.error).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('goes with its thread, and stays for a branch that has its message', async () => {
    await using store = open()
    const model = scriptedModel([call('read_log'), 'Read.'])
    await talk(model, [offload({ store })], { store, tools: [readLog] }).query('Read it.', session)
    const last = (await messagesOf(store)).at(-1)?.id ?? ''
    const { ref: branch } = await store.threads.fork(ANN, { at: last, to: 'branch' })
    await store.threads.delete(ANN)
    expect(await store.blobs.get(ANN, 'log-1-of-2025')).toBeUndefined()
    expect(await store.blobs.get(branch, 'log-1-of-2025')).toBe(LOG)
    await store.threads.delete(branch)
    expect(await store.blobs.get(branch, 'log-1-of-2025')).toBeUndefined()
  })
})

describe('a large result', () => {
  const made = (tool: Tool, turns: readonly ScriptedTurn[]) => {
    const store = memoryStore()
    return {
      store,
      desk: talk(scriptedModel(turns), [offload({ store, maxChars: 100, previewChars: 10 })], {
        store,
        tools: [tool],
      }),
    }
  }

  it('keeps its files, data, display and error, and is not cut inside a character', async () => {
    const file = { type: 'file', mediaType: 'image/png', data: 'AAAA' } as const
    const text = `123456789🚀${'x'.repeat(100)}`
    const content = [{ type: 'text', text }, file, { type: 'text', text: 'end' }]
    const rest = { data: { a: 1 }, display: 'A picture.', error: { code: 'HALF', message: 'half' } }
    const tool = defineTool({
      name: 'look',
      description: '',
      parameters: { type: 'object' },
      invoke: () => ({ content, ...rest }),
    })
    const { store, desk } = made(tool, [call('look'), 'Seen.'])
    await desk.query('Look.', session)
    const [result] = await results(store, 'look')
    expect(result).toMatchObject(rest)
    const [first, second] = (result?.content ?? []) as readonly [{ text: string }, unknown]
    expect([first.text.split('\n')[0], second]).toEqual(['123456789', file])
    expect(await store.blobs.get(ANN, 'look-{}')).toBe(`${text}end`)
  })

  it('of a tool that streams shows its chunks as they come', async () => {
    const tool: Tool = {
      name: 'look',
      description: '',
      kind: 'read',
      parameters: { type: 'object' },
      async *stream() {
        for (let i = 0; i < 3; i++) yield 'x'.repeat(60)
      },
    }
    const { store, desk } = made(tool, [call('look'), 'Seen.'])
    let deltas = 0
    for await (const { type } of desk.query('Look.', session)) if (type === 'tool-delta') deltas++
    expect(deltas).toBe(3)
    expect(await store.blobs.get(ANN, 'look-{}')).toBe('x'.repeat(180))
  })

  it('of a nested run has a name of its own, and is read there', async () => {
    const store = memoryStore()
    const handlers = [offload({ store, previewChars: 0 })]
    const inner = chatModelAgent({
      name: 'inner',
      description: 'Reads.',
      model: scriptedModel([
        call('read_log'),
        ({ messages }) =>
          call('read_result', {
            id: /id "([^"]*)"/.exec(textOf(messages.at(-1)?.content ?? ''))?.[1] ?? '',
            find: 'Disk',
          }),
        ({ messages }) => textOf(messages.at(-1)?.content ?? ''),
      ]),
      tools: [readLog],
      handlers,
    })
    const outer = scriptedModel([
      { toolCalls: [{ id: 'log-1-of-2025', name: 'inner', arguments: { request: 'Go' } }] },
      'Done.',
    ])
    const agent = chatModelAgent({ name: 'outer', model: outer, tools: [agentTool(inner)], handlers })
    await runner({ agent, store }).query('Go', session)
    expect(textOf((await results(store, 'inner'))[0]?.content ?? '')).toContain('Disk failure')
  })

  it('of a run that is not stored is kept as long as the run', async () => {
    const model = scriptedModel([
      call('read_log'),
      call('read_result', { id: 'log-1-of-2025', find: 'Disk' }),
      ({ messages }) => textOf(messages.at(-1)?.content ?? ''),
    ])
    const store = memoryStore()
    const agent = chatModelAgent({ name: 'guide', model, tools: [readLog], handlers: [offload({ store })] })
    expect((await startRun(agent, 'Go')).text).toContain('Disk failure')
  })
})
