import type { AssistantMessage, Message, Part, ToolCall, ToolMessage } from '@troupe/kernel'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { agentOf, runToEnd, textsOf, transferring, user } from '../flow.fixture.ts'
import { agentWithOptions, rewriteHistory, setSubAgents } from '../index.ts'
import { scriptedAgent } from '../scripted-agent.fixture.ts'

const router = 'RouterAgent'
const weather = 'WeatherAgent'
const image: Part = { type: 'file', mediaType: 'image/png', data: 'AA==' }
const thought: Part = { type: 'reasoning', text: 'Secret.' }

const call = (name: string, args = '{}', id = name): ToolCall => ({ id, name, arguments: args })
const says = (agentName: string, content: AssistantMessage['content'], ...toolCalls: ToolCall[]): AssistantMessage => ({
  id: `m-${agentName}-${toolCalls.length}`,
  role: 'assistant',
  content,
  agentName,
  ...(toolCalls.length > 0 && { toolCalls }),
})
const returns = (name: string, content: ToolMessage['content'], agentName?: string): ToolMessage => ({
  id: `r-${name}`,
  role: 'tool',
  callId: name,
  name,
  content,
  ...(agentName && { agentName }),
})
const toWeather = call('transfer_to_agent', '{"agent_name":"WeatherAgent"}')
const transferred = returns('transfer_to_agent', 'successfully transferred to agent [WeatherAgent]', router)
const seenBy = (...messages: readonly Message[]) => rewriteHistory(messages, weather).map(({ content }) => content)

describe('messages of other agents, word for word', () => {
  test('text', () => {
    expect(rewriteHistory([says(router, 'Let me transfer you to WeatherAgent')], weather)).toEqual([
      {
        agentName: router,
        id: 'm-RouterAgent-0',
        role: 'user',
        content: 'For context: [RouterAgent] said: Let me transfer you to WeatherAgent.',
      },
    ])
  })

  test('a call', () => {
    expect(seenBy(says(router, '', toWeather))).toEqual([
      'For context: [RouterAgent] called tool: `transfer_to_agent` with arguments: {"agent_name":"WeatherAgent"}.',
    ])
  })

  test('text and several calls are in one message', () => {
    expect(seenBy(says(router, 'Hm', call('a', '{"x":1}'), call('b', 'not json')))).toEqual([
      'For context: [RouterAgent] said: Hm. [RouterAgent] called tool: `a` with arguments: {"x":1}. [RouterAgent] called tool: `b` with arguments: not json.',
    ])
  })

  test('a result', () => {
    expect(seenBy(says(router, '', call('get')), returns('get', '25°C', router)).at(-1)).toBe(
      'For context: [RouterAgent] `get` tool returned result: 25°C.',
    )
  })

  test('a result without agentName belongs to the caller', () => {
    expect(seenBy(says(router, '', call('get')), returns('get', '25°C')).at(-1)).toBe(
      'For context: [RouterAgent] `get` tool returned result: 25°C.',
    )
    const own = [says(weather, '', call('get')), returns('get', '25°C')]
    expect(rewriteHistory(own, weather)).toBe(own)
  })

  test('nothing at all is left out', () => {
    expect(seenBy(says(router, ''), says(router, [thought]))).toEqual([])
    expect(seenBy(says(router, '', call('get')), returns('get', ''))).toHaveLength(1)
  })

  test('media stays, reasoning goes, of messages and of results', () => {
    const text: Part = { type: 'text', text: 'Look' }
    expect(seenBy(says(router, [thought, text, image]), says(router, [image]))).toEqual([
      [{ type: 'text', text: 'For context: [RouterAgent] said: Look.' }, image],
      [{ type: 'text', text: 'For context:' }, image],
    ])
    expect(seenBy(says(router, '', call('get')), returns('get', [thought, text, image])).at(-1)).toEqual([
      { type: 'text', text: 'For context: [RouterAgent] `get` tool returned result: Look.' },
      image,
    ])
  })

  test('the same history looks different to each agent', () => {
    const history = [says(router, 'A'), says(weather, 'B')]
    expect(textsOf(rewriteHistory(history, weather))).toEqual([
      'user: For context: [RouterAgent] said: A.',
      'WeatherAgent: B',
    ])
    expect(textsOf(rewriteHistory(history, router))).toEqual([
      'RouterAgent: A',
      'user: For context: [WeatherAgent] said: B.',
    ])
  })
})

test('own messages, and those of people and of the application, stay: the array is the same', () => {
  const own = [
    user(),
    { id: 's', role: 'system', content: 'Be kind.' } as const,
    says(weather, [thought, image], call('get')),
    returns('get', '25°C', weather),
    { id: 'x', role: 'assistant', content: 'Of nobody.' } as const,
  ]
  expect(rewriteHistory(own, weather)).toBe(own)
  expect(rewriteHistory([], weather)).toEqual([])
})

describe('skipTransferMessages', () => {
  const skip = (...messages: readonly Message[]) => rewriteHistory(messages, weather, { skipTransferMessages: true })

  test('leaves out the calls of transfers and their results', () => {
    expect(skip(user(), says(router, '', toWeather), transferred)).toEqual([user()])
  })

  test('keeps what was said and called beside them', () => {
    expect(textsOf(skip(says(router, 'Hm', toWeather, call('get')), transferred, returns('get', '25°C')))).toEqual([
      'user: For context: [RouterAgent] said: Hm. [RouterAgent] called tool: `get` with arguments: {}.',
      'user: For context: [RouterAgent] `get` tool returned result: 25°C.',
    ])
  })

  test('also of the agent itself, so that no call is left without its result', () => {
    const own = says(weather, '', call('transfer_to_agent'), call('get'))
    const seen = skip(own, returns('transfer_to_agent', 'ok', weather), returns('get', '25°C', weather))
    expect(textsOf(seen)).toEqual(['WeatherAgent: get({})', 'WeatherAgent: 25°C'])
  })

  test('of an agent in a tree', async () => {
    const target = scriptedAgent('target', ['Hi.'])
    await runToEnd(setSubAgents(transferring('lead', 'target'), [target]))
    const skipping = scriptedAgent('target', ['Hi.'])
    const lead = scriptedAgent('lead', [[{ name: 'transfer_to_agent', args: { agent_name: 'target' } }]])
    await runToEnd(setSubAgents(lead, [agentWithOptions(skipping, { skipTransferMessages: true })]))
    expect(textsOf(target.inputs[0]?.messages ?? [])).toEqual(['user: Hello', 'user: For context: [lead] said: lead.'])
    expect(textsOf(skipping.inputs[0]?.messages ?? [])).toEqual(['user: Hello'])
  })
})

describe('historyRewriter', () => {
  const run = async (historyRewriter: Parameters<typeof agentWithOptions>[1]['historyRewriter']) => {
    const target = scriptedAgent('target', ['Hi.'])
    const options = historyRewriter && { historyRewriter }
    const result = await runToEnd(
      setSubAgents(transferring('lead', 'target'), [agentWithOptions(target, options ?? {})]),
    )
    return { ...result, seen: target.inputs[0]?.messages }
  }

  test.each([
    ['at once', () => [user('Mine.')]],
    ['later', async () => [user('Mine.')]],
  ])('makes what its agent sees, %s', async (_, rewriter) => {
    expect((await run(rewriter)).seen).toEqual([user('Mine.')])
  })

  test('gets the whole history as it was said, and the agent it is for', async () => {
    let given: unknown
    const { seen } = await run((messages, ctx) => {
      given = [ctx.agentName, textsOf(messages)]
      return messages
    })
    expect(given).toEqual(['target', ['user: Hello', 'lead: lead']])
    expect(textsOf(seen ?? [])).toEqual(['user: Hello', 'lead: lead'])
  })

  test.each([
    ['throws', () => Promise.reject(new Error('no'))],
    [
      'throws at once',
      () =>
        ((): never => {
          throw new Error('no')
        })(),
    ],
  ])('that %s ends the run with its error', async (_, rewriter) => {
    const { end, errors } = await run(rewriter)
    expect([end?.outcome, errors.length, errors[0]?.message]).toEqual(['failed', 1, expect.stringContaining('no')])
  })

  test('does not change what the next agent sees', async () => {
    const last = scriptedAgent('last', ['Bye.'])
    const middle = agentWithOptions(transferring('middle', 'last'), { historyRewriter: () => [] })
    await runToEnd(setSubAgents(transferring('lead', 'middle'), [setSubAgents(middle, [last])]))
    expect(textsOf(last.inputs[0]?.messages ?? [])).toEqual([
      'user: Hello',
      'user: For context: [lead] said: lead.',
      'user: For context: [middle] said: middle.',
    ])
  })

  test('of an agent that is on its own holds too', async () => {
    const alone = agentOf('alone', async function* (_ctx, { messages }) {
      yield { type: 'custom', name: 'seen', data: messages.length }
    })
    const { events } = await runToEnd(agentWithOptions(alone, { historyRewriter: () => [] }))
    expect(events).toContainEqual(expect.objectContaining({ type: 'custom', data: 0 }))
  })
})

test('a name that looks like a pattern stays as it is', () => {
  expect(seenBy(says('$& [x] `y`', '$1'))).toEqual(['For context: [$& [x] `y`] said: $1.'])
})

const content = fc.oneof(fc.constantFrom('', 'text'), fc.constant([thought, image]))
const turn = fc.record({
  agentName: fc.constantFrom('a', 'b', undefined),
  content,
  names: fc.array(fc.constantFrom('get', 'transfer_to_agent'), { maxLength: 3 }),
  named: fc.boolean(),
  user: fc.boolean(),
})

/** A complete history: every call has its result. */
const histories = fc.array(turn, { maxLength: 8 }).map((turns) =>
  turns.flatMap(({ agentName, content, names, named, user: asks }, t): Message[] => {
    const toolCalls = names.map((name, i) => ({ id: `${t}-${i}`, name, arguments: '{}' }))
    const by = agentName !== undefined && { agentName }
    return [
      ...(asks ? [user('Well?', `u${t}`)] : []),
      { id: `m${t}`, role: 'assistant', content, ...by, ...(toolCalls.length > 0 && { toolCalls }) },
      ...toolCalls.map(
        ({ id, name }) => ({ id: `r${id}`, role: 'tool', callId: id, name, content, ...(named && by) }) as const,
      ),
    ]
  }),
)

test.each([{}, { skipTransferMessages: true }])(
  'no result without its call, no call without its result, users untouched: %o',
  (options) => {
    fc.assert(
      fc.property(histories, (messages) => {
        const copy = structuredClone(messages)
        const seen = rewriteHistory(messages, 'a', options)
        const calls = seen.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
        const results = seen.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
        expect(results).toEqual(calls.map(({ id }) => id))
        const users = messages.filter(({ role }) => role === 'user')
        expect(seen.filter((message) => users.includes(message))).toEqual(users)
        expect(messages).toEqual(copy)
        expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length)
      }),
    )
  },
)
