import type { EventDraft } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { call, message, result, shown, wire } from './events.fixture.ts'

const start: EventDraft = { type: 'message-start', messageId: 'm1' }
const text = (delta: string): EventDraft => ({ type: 'text-delta', messageId: 'm1', delta })
const thought = (delta: string): EventDraft => ({ type: 'reasoning-delta', messageId: 'm1', delta })
const types = (events: readonly unknown[]) => events.map((event) => (event as { type: string }).type)
const SEARCH = { id: 'c1', name: 'search', arguments: '{"q":1}' }

describe('转换映射 (the table of events)', () => {
  test('partial text is TEXT_MESSAGE_START and TEXT_MESSAGE_CONTENT', () => {
    expect(shown([start, text('Hel'), text('lo')]).slice(0, 3)).toEqual([
      { type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'assistant', name: 'root' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'Hel' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta: 'lo' },
    ])
  })

  test('final text is TEXT_MESSAGE_END', () => {
    expect(shown([start, text('Hello'), message('m1', 'Hello')]).at(-1)).toEqual({
      type: 'TEXT_MESSAGE_END',
      messageId: 'm1',
    })
  })

  test('a function call is TOOL_CALL_START, TOOL_CALL_ARGS and TOOL_CALL_END', () => {
    const events = shown([
      start,
      ...call('m1', 'c1', 'search', '{"q":1}'),
      message('m1', '', [SEARCH]),
      result('c1', 'x'),
    ])
    expect(events.slice(0, 3)).toEqual([
      { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'search', parentMessageId: 'm1' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"q":1}' },
      { type: 'TOOL_CALL_END', toolCallId: 'c1' },
    ])
  })

  test('a function response is TOOL_CALL_RESULT with display and data in its metadata', () => {
    const answer = { ...result('c1', 'for the model'), display: 'for a person', data: { n: 1 } } as EventDraft
    const events = shown([start, ...call('m1', 'c1', 'search', '{}'), message('m1', '', [SEARCH]), answer])
    expect(events.at(-1)).toEqual({
      type: 'TOOL_CALL_RESULT',
      messageId: 'c1-result',
      toolCallId: 'c1',
      role: 'tool',
      content: 'for the model',
      metadata: { display: 'for a person', data: { n: 1 } },
    })
  })

  test('a long-running call is TOOL_CALL_START, ARGS and END without a result, and pending', () => {
    const events = wire(
      [start, ...call('m1', 'c1', 'wait', '{}'), message('m1', '', [{ ...SEARCH, arguments: '{}' }])],
      {
        openCallIds: ['c1'],
      },
    )
    expect(types(events)).toEqual([
      'RUN_STARTED',
      'STATE_SNAPSHOT',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'RUN_FINISHED',
    ])
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: ['c1'] } })
  })

  test('a change of state is STATE_DELTA', () => {
    expect(shown([{ type: 'state-delta', set: { city: 'Bern' }, removed: [] }])).toEqual([
      { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/city', value: 'Bern' }] },
    ])
  })
})

describe('流式文本处理 (streamed text)', () => {
  test('a message without text has no text message', () => {
    expect(shown([start, message('m1', '')])).toEqual([])
  })

  test('parallel agents interleave, and their messages stay apart', () => {
    const other: EventDraft = { type: 'text-delta', messageId: 'm2', delta: 'B' }
    const events = shown([start, text('A'), other, text('a'), message('m2', 'B'), message('m1', 'Aa')])
    expect(types(events)).toEqual([
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'TEXT_MESSAGE_END',
    ])
  })

  test('reasoning is a span and a message of its own, closed when text begins', () => {
    expect(shown([start, thought('Hm'), text('Yes'), message('m1', 'Yes')]).slice(0, 6)).toEqual([
      { type: 'REASONING_START', messageId: 'm1:reasoning' },
      { type: 'REASONING_MESSAGE_START', messageId: 'm1:reasoning', role: 'reasoning' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'm1:reasoning', delta: 'Hm' },
      { type: 'REASONING_MESSAGE_END', messageId: 'm1:reasoning' },
      { type: 'REASONING_END', messageId: 'm1:reasoning' },
      { type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'assistant', name: 'root' },
    ])
  })

  test('reasoning goes on in the same message after a call, and in another one after text', () => {
    const drafts = [start, thought('A'), ...call('m1', 'c1', 'search', '{}'), thought('B'), text('Yes'), thought('C')]
    const spans = shown(drafts).filter((event) => (event as { type: string }).type === 'REASONING_START')
    expect(spans.map((event) => (event as { messageId: string }).messageId)).toEqual([
      'm1:reasoning',
      'm1:reasoning',
      'm1:reasoning:2',
    ])
  })

  test('an encrypted value belongs to its reasoning, or to the message if there is no text of it', () => {
    const parts = [
      { type: 'reasoning', text: 'Hm', encrypted: 's1' },
      { type: 'text', text: 'Yes' },
      { type: 'reasoning', text: '', encrypted: 's2' },
    ] as const
    const sealed = shown([start, thought('Hm'), text('Yes'), message('m1', parts)]).filter(
      (event) => (event as { type: string }).type === 'REASONING_ENCRYPTED_VALUE',
    )
    expect(sealed).toEqual([
      { type: 'REASONING_ENCRYPTED_VALUE', subtype: 'message', entityId: 'm1:reasoning', encryptedValue: 's1' },
      { type: 'REASONING_ENCRYPTED_VALUE', subtype: 'message', entityId: 'm1', encryptedValue: 's2' },
    ])
  })

  test('an unusual finish reason is shown', () => {
    const cut = { ...message('m1', 'Yes'), finishReason: 'length' } as EventDraft
    expect(shown([start, text('Yes'), cut]).at(-1)).toMatchObject({ metadata: { finishReason: 'length' } })
  })

  test('a file that a model made is an activity', () => {
    const file = { type: 'file', mediaType: 'image/png', url: 'https://example.org/a.png' } as const
    expect(shown([start, message('m1', [file])])).toEqual([
      {
        type: 'ACTIVITY_SNAPSHOT',
        messageId: 'm1:file:1',
        activityType: 'file',
        content: { mediaType: 'image/png', url: 'https://example.org/a.png' },
        replace: true,
      },
    ])
  })
})

describe('去重机制 (no text twice)', () => {
  const whole = (events: readonly unknown[]) =>
    events.map((event) => (event as { delta?: string }).delta ?? '').join('')

  test('a final text that was streamed is not sent again', () => {
    expect(whole(shown([start, text('Hel'), text('lo'), message('m1', 'Hello')]))).toBe('Hello')
  })

  test('a final text that was not streamed is sent whole', () => {
    expect(whole(shown([message('m1', 'Hello')]))).toBe('Hello')
  })

  test('the rest of a final text that was streamed in part is sent', () => {
    expect(whole(shown([start, text('Hel'), message('m1', 'Hello')]))).toBe('Hello')
  })

  test('text after the end of a message is ignored', () => {
    expect(whole(shown([start, text('Hello'), message('m1', 'Hello'), text('!'), message('m1', 'Hello')]))).toBe(
      'Hello',
    )
  })

  test('arguments that were not streamed are sent whole, once', () => {
    const begin: EventDraft = { type: 'tool-call-start', messageId: 'm1', callId: 'c1', name: 'search' }
    const end: EventDraft = { type: 'tool-call-end', call: SEARCH }
    expect(whole(shown([start, begin, end, message('m1', '', [SEARCH]), result('c1', '')]))).toBe('{"q":1}')
  })

  test('a call has one result, even if its end comes twice', () => {
    const events = shown([start, ...call('m1', 'c1', 'search', '{}'), result('c1', 'a'), result('c1', 'b')])
    expect(types(events).filter((type) => type === 'TOOL_CALL_RESULT')).toHaveLength(1)
  })
})

describe('长运行工具 (calls that the client runs)', () => {
  const calling = [start, ...call('m1', 'c1', 'browser', '{}'), message('m1', '', [{ ...SEARCH, arguments: '{}' }])]
  const options = { clientTools: new Set(['browser']) }

  test('end when the run has stored them', () => {
    const more: EventDraft = { type: 'text-delta', messageId: 'm2', delta: 'Wait.' }
    const events = types(shown([...calling, more, message('m2', 'Wait.')], { openCallIds: ['c1'] }, options))
    expect(events.at(-1)).toBe('TOOL_CALL_END')
    expect(events.filter((type) => type === 'TOOL_CALL_END')).toHaveLength(1)
  })

  test('end before the result if the server has answered them', () => {
    expect(types(shown([...calling, result('c1', 'no such page')], {}, options)).slice(-2)).toEqual([
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
    ])
  })

  test.each(['failed', 'cancelled'] as const)('one of a run that %s is withdrawn before it ends', (outcome) => {
    const events = shown(calling, { outcome, error: { code: 'ABORTED', message: 'x' } }, options)
    expect(types(events).slice(-2)).toEqual(['TOOL_CALL_RESULT', 'TOOL_CALL_END'])
    expect(events.at(-2)).toMatchObject({ toolCallId: 'c1', content: 'The call was withdrawn.' })
  })

  test('do not get the result back that the client has sent', () => {
    const input = {
      messages: [
        {
          id: 'm0',
          role: 'assistant',
          toolCalls: [{ id: 'c0', type: 'function', function: { name: 'b', arguments: '' } }],
        },
        { id: 't0', role: 'tool', toolCallId: 'c0', content: 'clicked' },
      ],
    } as const
    expect(shown([result('c0', 'clicked')], {}, { history: input.messages as never })).toEqual([])
  })
})
