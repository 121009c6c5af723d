import { describe, expect, test } from 'vitest'
import { official0 } from '../pipeline.fixture.ts'
import type { AgUiEvent } from '../protocol.ts'
import { FEATURE_OF, type Feature } from '../translate/feature-of.ts'
import { gate } from './gate.ts'
import { understoodBy } from './understood.ts'

const event = (type: string, rest: object) => ({ type, ...rest }) as AgUiEvent
const ids = { threadId: 't', runId: 'r' }
const started = event('RUN_STARTED', ids)
const parts = [
  { type: 'text', text: 'See' },
  { type: 'image', source: { type: 'data', value: 'AA==', mimeType: 'image/png' } },
  { type: 'document', source: { type: 'file', value: 'f1' } },
]
const NEW: readonly (readonly [AgUiEvent, object])[] = [
  [event('RUN_FINISHED', { ...ids, outcome: { type: 'cancelled' } }), ids],
  [event('RUN_FINISHED', { ...ids, outcome: { type: 'success', pendingToolCallIds: ['c'] } }), ids],
  [
    event('TOOL_CALL_RESULT', { messageId: 'm', toolCallId: 'c', content: parts }),
    { messageId: 'm', toolCallId: 'c', content: 'See' },
  ],
  [
    event('MESSAGES_SNAPSHOT', {
      messages: [
        { id: 'u', role: 'user', content: parts },
        { id: 't', role: 'tool', toolCallId: 'c', content: parts },
      ],
    }),
    {
      messages: [
        { id: 'u', role: 'user', content: parts.slice(0, 2) },
        { id: 't', role: 'tool', toolCallId: 'c', content: 'See' },
      ],
    },
  ],
]

describe('a client that names no version', () => {
  test.each(NEW.map(([whole, known]) => [whole.type, whole, known] as const))(
    'gets of %s what it knows',
    async (type, whole, known) => {
      const gated = gate(whole, undefined)
      expect(gated).toEqual({ type, ...known })
      await official0([started, whole])
    },
  )

  test('gets everything else as it is', () => {
    const same = [
      started,
      event('RUN_FINISHED', { ...ids, outcome: { type: 'interrupt', interrupts: [] } }),
      event('RUN_FINISHED', { ...ids, outcome: { type: 'success' } }),
      event('TOOL_CALL_RESULT', { messageId: 'm', toolCallId: 'c', content: 'x' }),
    ]
    for (const item of same) expect(gate(item, undefined)).toBe(item)
  })

  test('gets its own input back in its own format', () => {
    const input = { ...ids, messages: [{ id: 'u', role: 'user', content: parts }], tools: [], context: [] }
    const echoed = gate(event('RUN_STARTED', { ...ids, input }), undefined) as { input?: { messages: unknown } }
    expect(echoed.input?.messages).toEqual([{ id: 'u', role: 'user', content: parts.slice(0, 2) }])
  })
})

test.each(['1.0', '1.7', '2.0'])('a client of %s gets everything', (version) => {
  for (const [whole] of NEW) expect(gate(whole, version)).toBe(whole)
})

/** The features of the clients that matter: the last without one, and the first with it. */
test.each([
  ['0.0.28', []],
  ['0.0.30', ['results']],
  ['0.0.36', ['results']],
  ['0.0.37', ['results', 'parallel']],
  ['0.0.40', ['results', 'parallel']],
  ['0.0.41', ['results', 'parallel', 'activities', 'parts']],
  ['0.0.44', ['results', 'parallel', 'activities', 'parts']],
  ['0.0.45', ['results', 'parallel', 'activities', 'parts', 'reasoning']],
  ['0.0.58', ['results', 'parallel', 'activities', 'parts', 'reasoning', 'media']],
  ['0.0.59', ['results', 'parallel', 'activities', 'parts', 'reasoning', 'media', 'subagents']],
])('a client of %s accepts %j', (version, features) => {
  const { current, ...understood } = understoodBy(version)
  expect([current, Object.keys(understood).filter((name) => understood[name as Feature])]).toEqual([false, features])
  for (const [type, feature] of Object.entries(FEATURE_OF)) {
    const whole = event(type, { content: '' })
    expect(gate(whole, version)).toBe(understood[feature] ? whole : undefined)
  }
  const messages = [
    { id: 'u', role: 'user', content: parts },
    { id: 'r', role: 'reasoning', content: 'Hm' },
    { id: 'a', role: 'activity', activityType: 'file', content: {} },
  ]
  const shown = gate(event('MESSAGES_SNAPSHOT', { messages }), version) as { messages?: { content: unknown }[] }
  const { parts: some, media, reasoning, activities } = understood
  const content = some ? parts.slice(0, media ? 2 : 1) : 'See'
  expect(shown.messages?.map((message) => message.content)).toEqual([
    content,
    ...(reasoning ? ['Hm'] : []),
    ...(activities ? [{}] : []),
  ])
})

test.each(['0.9', 'x', '', '0.0', '1x'])('a version like "%s" counts as none', (version) => {
  for (const [whole] of NEW) expect(gate(whole, version)).not.toEqual(whole)
})
