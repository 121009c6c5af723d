import { KernelError } from '@troupe/kernel'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BAD_INPUTS, GOOD, nested } from './bad-input.fixture.ts'
import { parseRunAgentInput } from './parse-run-agent-input.ts'

const INPUT = { threadId: 't1', runId: 'r1', messages: [] as unknown[] }
const with_ = (more: object) => ({ ...INPUT, ...more })
const user = (content: unknown, id = 'u1') => ({ id, role: 'user', content })
const tool = (parameters: unknown, name = 'pick') => ({ name, description: 'Picks.', parameters })

function refused(value: unknown): { path: string; message: string } {
  try {
    parseRunAgentInput(value)
  } catch (error) {
    if (!KernelError.is(error, 'VALIDATION_FAILED')) throw error
    const [issue] = error.details.issues as [{ path: string; message: string }]
    expect(error.message).toContain(issue.path)
    return issue
  }
  throw new Error('test: it was taken')
}

describe('执行流程: the RunAgentInput of a client', () => {
  test('may leave out optional fields', () => {
    const input = parseRunAgentInput(with_({ messages: [user('Hi')], state: { n: 1 }, forwardedProps: { a: null } }))
    expect(input).toEqual({
      ...INPUT,
      messages: [user('Hi')],
      state: { n: 1 },
      forwardedProps: { a: null },
      tools: [],
      context: [],
    })
  })

  test('of an older client may have nulls for what is absent', () => {
    const messages = [{ id: 'a', role: 'assistant', content: null, toolCalls: null }]
    const input = parseRunAgentInput(
      with_({ messages, state: null, tools: null, context: null, forwardedProps: null, resume: null }),
    )
    expect(input).toEqual({ ...INPUT, messages: [{ id: 'a', role: 'assistant' }], tools: [], context: [] })
  })

  test('of an older client may have binary parts', () => {
    const content = [
      { type: 'text', text: 'See' },
      { type: 'binary', mimeType: 'image/png', data: 'aGk=', filename: 'a.png' },
      { type: 'binary', mimeType: 'application/pdf', url: 'https://example.org/a.pdf' },
      { type: 'binary', mimeType: 'audio/wav', id: 'file-1' },
    ]
    expect(parseRunAgentInput(with_({ messages: [user(content)] })).messages[0]?.content).toEqual([
      { type: 'text', text: 'See' },
      {
        type: 'image',
        source: { type: 'data', value: 'aGk=', mimeType: 'image/png' },
        metadata: { filename: 'a.png' },
      },
      { type: 'document', source: { type: 'url', value: 'https://example.org/a.pdf', mimeType: 'application/pdf' } },
      { type: 'audio', source: { type: 'file', value: 'file-1', mimeType: 'audio/wav' } },
    ])
  })

  test('is not changed', () => {
    const given = with_({ messages: [user([{ type: 'binary', mimeType: 'image/png', data: 'aGk=' }])], tools: null })
    const before = structuredClone(given)
    parseRunAgentInput(given)
    expect(given).toEqual(before)
  })
})

describe('an invalid field is VALIDATION_FAILED with its path', () => {
  const proto = JSON.parse('{"a":{"__proto__":{"polluted":1}}}') as object
  const wrong: [string, unknown, string][] = [
    ['nothing', undefined, 'input'],
    ['a text', 'hello', 'input'],
    ['a list', [], 'input'],
    ['no messages', { threadId: 't', runId: 'r' }, 'messages'],
    ['messages that are none', with_({ messages: 'hi' }), 'messages'],
    [
      'a message of an unknown role',
      with_({ messages: [{ id: 'x', role: 'ghost', content: '' }] }),
      'messages[0].role',
    ],
    ['a message without content', with_({ messages: [user('a'), { id: 'x', role: 'user' }] }), 'messages[1].content'],
    ['a number for an id', with_({ threadId: 7 }), 'threadId'],
    ['an empty id', with_({ runId: '' }), 'runId'],
    ['an id of 300 characters', with_({ threadId: 'x'.repeat(300) }), 'threadId'],
    ['an id with NUL', with_({ threadId: 'a\u0000b' }), 'threadId'],
    ['an id with half a character', with_({ messages: [user('a', '\ud800')] }), 'messages[0].id'],
    ['an id twice', with_({ messages: [user('a'), user('b')] }), 'messages[1].id'],
    ['a state that is a list', with_({ state: [1] }), 'state'],
    ['a state that is a text', with_({ state: 'x' }), 'state'],
    ['a state with an empty key', with_({ state: { '': 1 } }), 'state'],
    ['a state beyond 256 KiB', with_({ state: { a: 'x'.repeat(262_144) } }), 'state'],
    ['a state beyond 256 KiB in few characters', with_({ state: { a: '語'.repeat(90_000) } }), 'state'],
    ['__proto__ in the state', with_({ state: proto }), 'state.a.__proto__'],
    ['constructor in the state', with_({ state: { constructor: 1 } }), 'state.constructor'],
    ['prototype in what is forwarded', with_({ forwardedProps: [{ prototype: 1 }] }), 'forwardedProps[0].prototype'],
    ['a value that is not JSON', with_({ state: { when: new Date(0) } }), 'state.when'],
    ['NaN', with_({ state: { n: Number.NaN } }), 'state.n'],
    ['a tool without a name', with_({ tools: [tool({}, '')] }), 'tools[0].name'],
    ['a tool twice', with_({ tools: [tool({}), tool({})] }), 'tools[1].name'],
    ['129 tools', with_({ tools: Array.from({ length: 129 }, (_, i) => tool({}, `t${i}`)) }), 'tools'],
    ['parameters that are a text', with_({ tools: [tool('x')] }), 'tools[0].parameters'],
    ['parameters of a list', with_({ tools: [tool({ type: 'array' })] }), 'tools[0].parameters'],
    [
      'parameters that are no schema',
      with_({ tools: [tool({ properties: { a: { type: 'colour' } } })] }),
      'tools[0].parameters',
    ],
    [
      'a pattern of 600 characters',
      with_({ tools: [tool({ properties: { a: { anyOf: [{ pattern: 'a'.repeat(600) }] } } })] }),
      'tools[0].parameters.properties.a.anyOf[0].pattern',
    ],
    [
      'a pattern of 600 characters for names',
      with_({ tools: [tool({ patternProperties: { ['a'.repeat(600)]: {} } })] }),
      'tools[0].parameters.patternProperties',
    ],
    ['an answer without a status', with_({ resume: [{ interruptId: 'i' }] }), 'resume[0].status'],
    [
      'two answers to one question',
      with_({ resume: [1, 2].map((payload) => ({ interruptId: 'i', status: 'resolved', payload })) }),
      'resume[1].interruptId',
    ],
  ]
  test.each(wrong)('%s', (_, value, path) => {
    expect(refused(value).path).toBe(path)
  })

  test('nesting deeper than 64 levels, however deep', () => {
    expect(() => parseRunAgentInput(with_({ state: { deep: nested(60) } }))).not.toThrow()
    for (const depth of [65, 100_000]) {
      const { path, message } = refused(with_({ state: { deep: nested(depth) } }))
      expect(path).toMatch(/^state\.deep/)
      expect(path.length).toBeLessThanOrEqual(201)
      expect(message).toBe('nested deeper than 64 levels')
    }
  })

  test('a value that contains itself', () => {
    const round: Record<string, unknown> = {}
    round.round = round
    expect(refused(with_({ forwardedProps: round })).message).toBe('nested deeper than 64 levels')
  })

  test('an error does not repeat a long value', () => {
    expect(JSON.stringify(refused(with_({ threadId: `${'x'.repeat(1_000)}\u0000` }))).length).toBeLessThan(300)
  })
})

test('2,000 invalid inputs get the coded error, which names the field', () => {
  let refusedOnes = 0
  fc.assert(
    fc.property(BAD_INPUTS, ({ value, field }) => {
      try {
        parseRunAgentInput(value)
      } catch (error) {
        if (!KernelError.is(error, 'VALIDATION_FAILED')) throw error
        const [issue] = error.details.issues as [{ path: string }]
        expect(issue.path.startsWith(field)).toBe(true)
        expect(error.message.length).toBeLessThan(1_000)
        refusedOnes++
      }
    }),
    { numRuns: 2_000, seed: 7 },
  )
  expect(parseRunAgentInput(GOOD).threadId).toBe('t1')
  expect(({} as { polluted?: number }).polluted).toBeUndefined()
  expect(refusedOnes).toBeGreaterThan(500)
}, 30_000)
