import type { EventDraft } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { clientOf } from '../pipeline.fixture.ts'
import type { AgUiMessage } from '../protocol.ts'
import { call, message, result, shown, wire } from './events.fixture.ts'
import { toAgUiMessages } from './to-ag-ui-messages.ts'

const past: AgUiMessage[] = [{ id: 'u1', role: 'user', content: 'Hi' }]
const start = (messageId: string): EventDraft => ({ type: 'message-start', messageId })
const text = (messageId: string, delta: string): EventDraft => ({ type: 'text-delta', messageId, delta })
const dropped = (id: string, content: string): EventDraft => ({ ...message(id, content), dropped: true }) as EventDraft
const types = (events: readonly unknown[]) => events.map((event) => (event as { type: string }).type)

/** The messages that the official client has in the end, as lines. */
async function screen(drafts: readonly EventDraft[], end = {}): Promise<readonly string[]> {
  const events = wire(drafts, end, { history: past })
  const { messages } = await clientOf(events, past)
  return messages.map((message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []).map(({ function: f }) => f.arguments) : []
    return [message.role, message.content ?? '', ...calls].join(' ').trim()
  })
}

describe('the text of a failed attempt', () => {
  const failed = [start('m1'), text('m1', 'Hel'), dropped('m1', 'Hel')]

  test('is removed when the next attempt begins', async () => {
    const next = [start('m2'), text('m2', 'Hello'), message('m2', 'Hello')]
    expect(await screen([...failed, ...next])).toEqual(['user Hi', 'assistant Hello'])
    expect(types(shown([...failed, ...next], {}, { history: past }))[3]).toBe('MESSAGES_SNAPSHOT')
  })

  test.each(['failed', 'cancelled'] as const)('stays on the screen when the run has %s', async (outcome) => {
    const error = { code: 'ABORTED', message: 'x' }
    expect(await screen(failed, { outcome, error })).toEqual(['user Hi', 'assistant Hel'])
  })

  test('is removed with its calls', async () => {
    const calls = [start('m1'), ...call('m1', 'c1', 'search', '{}'), dropped('m1', '')]
    expect(await screen([...calls, message('m2', 'Hello')])).toEqual(['user Hi', 'assistant Hello'])
  })

  test('is removed without the messages that other agents are writing', async () => {
    const other = [
      text('m9', 'Mean'),
      ...failed,
      text('m9', 'while'),
      message('m2', 'Hello'),
      message('m9', 'Meanwhile'),
    ]
    expect(await screen(other)).toEqual(['user Hi', 'assistant Meanwhile', 'assistant Hello'])
  })
})

describe('a message that was cut off', () => {
  const partial = (id: string, content: string): EventDraft => ({
    type: 'message-end',
    message: { id, role: 'assistant', content, agentName: 'root', partial: true },
  })
  const gone = { type: 'tool-end', callId: 'c1', messageId: 'r', name: 's', status: 'dropped', content: '' } as const
  const cut = [
    start('m1'),
    text('m1', 'Hel'),
    ...call('m1', 'c1', 'search', '{}').slice(0, 2),
    gone,
    partial('m1', 'Hel'),
  ]
  const ends = [{ outcome: 'failed' }, { outcome: 'cancelled' }] as const

  test.each(ends)('stays on the screen, without its calls, when the run has $outcome', async ({ outcome }) => {
    const error = { code: 'ABORTED', message: 'x' }
    expect(await screen(cut, { outcome, error })).toEqual(['user Hi', 'assistant Hel'])
  })

  test('is marked in its end, in a snapshot and in the stored history', async () => {
    const marked = { id: 'm1', role: 'assistant', name: 'root', content: 'Hel', metadata: { partial: true } }
    const events = shown(cut, { outcome: 'cancelled' }, { history: past })
    expect(events).toContainEqual({ type: 'TEXT_MESSAGE_END', messageId: 'm1', metadata: { partial: true } })
    expect(events).toContainEqual({ type: 'MESSAGES_SNAPSHOT', messages: [...past, marked] })
    const [end] = [start('m1'), text('m1', 'Hel'), partial('m1', 'Hel')].slice(-1)
    expect(toAgUiMessages(end?.type === 'message-end' ? [end.message] : [])).toEqual([marked])
    const live = await clientOf(wire([start('m1'), text('m1', 'Hel'), partial('m1', 'Hel')], { outcome: 'cancelled' }))
    expect(live.messages).toEqual([marked])
  })
})

describe('a message that a hook has changed', () => {
  test('replaces the streamed text', async () => {
    expect(await screen([start('m1'), text('m1', 'Damn'), message('m1', 'D***')])).toEqual([
      'user Hi',
      'assistant D***',
    ])
  })

  test('is sent as the rest if the hook only added to it', () => {
    const events = shown([start('m1'), text('m1', 'Hi'), message('m1', 'Hi there')], {}, { history: past })
    expect(types(events)).not.toContain('MESSAGES_SNAPSHOT')
  })

  test('a call that the hook removed is withdrawn', async () => {
    const gone = { type: 'tool-end', callId: 'c1', messageId: 'r', name: 's', status: 'dropped', content: '' } as const
    const drafts = [start('m1'), text('m1', 'Hm'), ...call('m1', 'c1', 'search', '{}'), gone, message('m1', 'Hm')]
    expect(await screen(drafts)).toEqual(['user Hi', 'assistant Hm'])
    const taken = shown(drafts, {}, { history: past })
    expect(types(taken).filter((type) => type === 'MESSAGES_SNAPSHOT')).toHaveLength(1)
  })

  test('a call that the hook added is shown', async () => {
    const added = { id: 'c1', name: 'search', arguments: '{"q":2}' }
    const drafts = [start('m1'), text('m1', 'Hm'), message('m1', 'Hm', [added]), result('c1', 'found')]
    expect(await screen(drafts)).toEqual(['user Hi', 'assistant Hm {"q":2}', 'tool found'])
  })

  test('arguments that the hook changed replace the streamed ones', async () => {
    const changed = { id: 'c1', name: 'search', arguments: '{"q":3}' }
    const drafts = [
      start('m1'),
      ...call('m1', 'c1', 'search', '{"q":1}'),
      message('m1', '', [changed]),
      result('c1', 'x'),
    ]
    expect(await screen(drafts)).toEqual(['user Hi', 'assistant  {"q":3}', 'tool x'])
  })
})

test('without a known history nothing is replaced, because a snapshot would remove messages', () => {
  const events = shown([start('m1'), text('m1', 'Damn'), message('m1', 'D***')])
  expect(types(events)).toEqual(['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'])
})

describe('a resumed run', () => {
  const asked = {
    id: 'm0',
    role: 'assistant',
    toolCalls: [{ id: 'c0', type: 'function', function: { name: 'search', arguments: '{}' } }],
  } as const

  test('shows the result of a call that the client knows without the call', () => {
    const events = shown([result('c0', 'found')], {}, { history: [...past, asked as never] })
    expect(types(events)).toEqual(['TOOL_CALL_RESULT'])
  })

  test('shows a call that the client does not know before its result', () => {
    expect(types(shown([result('c0', 'found')], {}, { history: past }))).toEqual([
      'TOOL_CALL_START',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
    ])
  })
})

describe('an error that a tool threw', () => {
  const error = { code: 'TOOL_FAILED', message: 'connect to 10.0.0.7 refused' }
  const failed = { ...result('c1', `Error: ${error.message}`), status: 'failed', error } as EventDraft

  test('is not shown', () => {
    const [event] = shown([failed]).slice(-1)
    expect(event).toMatchObject({ content: 'Error: the tool failed.', metadata: { error: { code: 'TOOL_FAILED' } } })
    expect(JSON.stringify(shown([failed]))).not.toContain('10.0.0.7')
  })

  test('is shown with showToolErrors', () => {
    expect(shown([failed], {}, { showToolErrors: true }).at(-1)).toMatchObject({ content: `Error: ${error.message}` })
  })

  test('is shown if the kernel wrote it', () => {
    const unknown = {
      ...failed,
      content: 'Error: no tool x',
      error: { code: 'TOOL_UNKNOWN', message: '' },
    } as EventDraft
    expect(shown([unknown]).at(-1)).toMatchObject({ content: 'Error: no tool x' })
  })
})
