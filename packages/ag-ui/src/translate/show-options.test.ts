import { EventType } from '@ag-ui/core'
import { describe, expect, test } from 'vitest'
import { agentOf, stage } from '../agent/agent.fixture.ts'
import type { AgUiEvent } from '../protocol.ts'
import { eventTranslator } from './event-translator.ts'
import { call, message, result, wire } from './events.fixture.ts'
import type { ShowOptions } from './show-options.ts'

const typesOf = (events: readonly AgUiEvent[]) => events.map(({ type }) => String(type))
const USER = { id: 'u1', role: 'user', content: 'Write' } as const
const WRITE = { id: 'c1', name: 'write', arguments: '{"text":"Hi"}' }
const writing = [
  { type: 'reasoning-delta', messageId: 'm1', delta: 'Hm' } as const,
  ...call('m1', 'c1', 'write', WRITE.arguments),
  message('m1', [{ type: 'reasoning', text: 'Hm' }], [WRITE]),
  result('c1', 'written'),
  ...call('m2', 'c2', 'write', WRITE.arguments),
  message('m2', '', [{ ...WRITE, id: 'c2' }]),
  result('c2', 'written'),
]
const shown = (show?: ShowOptions) => wire(writing, {}, { input: { messages: [USER] }, ...(show && { show }) })

describe('what clients see besides the run', () => {
  test('predicted state is announced once, before the first call of its tool', () => {
    const predictState = [{ tool: 'write', argument: 'text', stateKey: 'draft' }]
    const events = shown({ predictState })
    const types = typesOf(events)
    const announced = events.filter(({ type }) => String(type) === 'CUSTOM')
    expect(announced).toEqual([
      {
        type: 'CUSTOM',
        name: 'PredictState',
        value: [{ state_key: 'draft', tool: 'write', tool_argument: 'text' }],
      },
    ])
    expect(types.indexOf('CUSTOM')).toBeLessThan(types.indexOf('TOOL_CALL_START'))
    expect(typesOf(shown())).not.toContain('CUSTOM')
  })

  test('predicted state of several tools is announced together, because clients keep the last announcement', () => {
    const predictState = [
      { tool: 'write', argument: 'text', stateKey: 'draft' },
      { tool: 'name', argument: 'title', stateKey: 'title' },
    ]
    const NAME = { id: 'c2', name: 'name', arguments: '{"title":"T"}' }
    const parallel = [...call('m1', 'c1', 'write', WRITE.arguments), ...call('m1', 'c2', 'name', NAME.arguments)]
    const events = wire([...parallel, message('m1', '', [WRITE, NAME])], {}, { show: { predictState } })
    const value = [
      { state_key: 'draft', tool: 'write', tool_argument: 'text' },
      { state_key: 'title', tool: 'name', tool_argument: 'title' },
    ]
    const announced = events.filter(({ type }) => String(type) === 'CUSTOM')
    expect(announced).toMatchObject([{ value }, { value }])
  })

  test('each event has its time, by the given clock, if it is asked for', () => {
    let now = 1_000
    const clock = { now: () => now++ }
    const events = wire(writing, {}, { input: { messages: [USER] }, show: { timestamps: true }, clock })
    const times = events.map(({ timestamp }) => timestamp ?? 0)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect([times[0], new Set(times).size > 5]).toEqual([1_000, true])
    expect(events.map(({ timestamp: _, ...event }) => event)).toEqual(shown())
  })

  test('all messages come at the end if they are asked for', () => {
    expect(typesOf(shown())).not.toContain('MESSAGES_SNAPSHOT')
    const [messages, end] = shown({ messagesSnapshot: true }).slice(-2)
    expect(end?.type).toBe('RUN_FINISHED')
    expect(messages).toMatchObject({
      type: 'MESSAGES_SNAPSHOT',
      messages: [USER, { role: 'reasoning' }, {}, {}, {}, {}],
    })
  })

  test('reasoning can be left out, also of snapshots', () => {
    const omitted = JSON.stringify(shown({ omit: ['reasoning'], messagesSnapshot: true }))
    expect(omitted).not.toMatch(/reasoning/i)
    expect(JSON.stringify(shown({ messagesSnapshot: true }))).toMatch(/REASONING_START/)
  })

  test('it can depend on the request', async () => {
    const { serve } = stage(undefined, {
      show: ({ forwardedProps }) => ({
        messagesSnapshot: (forwardedProps as { whole?: boolean } | undefined)?.whole === true,
      }),
    })
    const types = async (id: string, forwardedProps: object) =>
      typesOf(await serve({ messages: [{ id, role: 'user', content: 'Hi' }], forwardedProps, runId: id }))
    expect(await types('a', {})).not.toContain('MESSAGES_SNAPSHOT')
    expect(await types('b', { whole: true })).toContain('MESSAGES_SNAPSHOT')
  })

  test.each([
    [{ omit: ['text'] }, /show.omit/],
    [{ predictState: [{ tool: 'write' }] }, /show.predictState/],
    [{ snapshot: true }, /snapshot/],
  ])('%j is refused', (show, reason) => {
    const options = { threadId: 't', runId: 'r', state: {}, show: show as never }
    expect(() => eventTranslator(options)).toThrow(reason)
    expect(() => stage(undefined, { show: show as never })).toThrow(reason)
  })
})

describe('tools of a client', () => {
  const tool = (name: string, parameters: unknown = {}) => ({ name, description: 'A tool.', parameters }) as never
  const offered = async (tools: readonly never[], options: Parameters<typeof stage>[1] = {}) => {
    let names: readonly string[] = []
    const looks = agentOf(async function* ({ additions }) {
      names = additions?.tools?.map(({ tool }) => tool.name) ?? []
    })
    const { serve } = stage(looks, options)
    const events = await serve({ messages: [{ id: 'a', role: 'user', content: 'Hi' }], tools: [...tools] })
    const refused = events.flatMap((event) =>
      event.type === EventType.CUSTOM && event.name === 'tool-refused' ? [event.value.message] : [],
    )
    return { names, end: events.at(-1)?.type as string, refused }
  }

  test('one bad definition does not refuse the others', async () => {
    const bad = [tool('no name'), tool('a', { type: 'string' }), 7 as never, { name: 'b' } as never, tool('pick')]
    const { names, end, refused } = await offered([tool('pick'), ...bad, tool('last', null)])
    expect([names, end]).toEqual([['pick', 'last'], 'RUN_FINISHED'])
    expect(refused).toEqual([
      expect.stringContaining('tools[1].name'),
      expect.stringContaining('tools[2].parameters'),
      expect.stringContaining('tools[3]'),
      expect.stringContaining('tools[4]'),
      expect.stringContaining('tools[5].name'),
    ])
  })

  test('can be selected', async () => {
    const { names } = await offered([tool('pick'), tool('steal')], {
      clientTools: ({ name }, { user }) => user === 'ann' && name === 'pick',
    })
    expect(names).toEqual(['pick'])
  })
})
