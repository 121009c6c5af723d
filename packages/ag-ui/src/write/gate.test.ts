import { describe, expect, test } from 'vitest'
import { official0 } from '../pipeline.fixture.ts'
import type { AgUiEvent } from '../protocol.ts'
import { gate } from './gate.ts'

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
  [
    event('RUN_FINISHED', { ...ids, outcome: { type: 'success', pendingToolCallIds: ['c'] } }),
    { ...ids, outcome: { type: 'success' } },
  ],
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
      event('TOOL_CALL_RESULT', { messageId: 'm', toolCallId: 'c', content: 'x' }),
      event('SUBAGENT_STARTED', { subagentRunId: 's', name: 'n' }),
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

test.each(['0.9', 'x', ''])('a version like "%s" counts as none', (version) => {
  for (const [whole] of NEW) expect(gate(whole, version)).not.toEqual(whole)
})
