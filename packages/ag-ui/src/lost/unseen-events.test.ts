import { EventType } from '@ag-ui/core'
import type { JsonObject } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import { UnseenEvents } from './unseen-events.ts'

const started: AgUiEvent = { type: EventType.RUN_STARTED, threadId: 't', runId: 'R' }
const finished: AgUiEvent = { type: EventType.RUN_FINISHED, threadId: 't', runId: 'R', outcome: { type: 'success' } }
const state = (snapshot: JsonObject): AgUiEvent => ({ type: EventType.STATE_SNAPSHOT, snapshot })
const set = (key: string): AgUiEvent => ({
  type: EventType.STATE_DELTA,
  delta: [{ op: 'add', path: `/${key}`, value: 1 }],
})
const text = (messageId: string, delta: string, tag: object = {}): AgUiEvent[] => [
  { type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant', ...tag },
  { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta, ...tag },
]
const end = (messageId: string): AgUiEvent => ({ type: EventType.TEXT_MESSAGE_END, messageId })
const call = (toolCallId: string): AgUiEvent[] => [
  { type: EventType.TOOL_CALL_START, toolCallId, toolCallName: 'look', parentMessageId: 'm1' },
  { type: EventType.TOOL_CALL_END, toolCallId },
]
const result = (toolCallId: string): AgUiEvent => ({
  type: EventType.TOOL_CALL_RESULT,
  toolCallId,
  messageId: `${toolCallId}:result`,
  content: 'found',
})
const custom = (name: string, value: unknown = null): AgUiEvent => ({ type: EventType.CUSTOM, name, value })
const output = (delta: string) => custom('tool-delta', { toolCallId: 'c1', delta })
const snapshot = (...messages: AgUiMessage[]): AgUiEvent => ({ type: EventType.MESSAGES_SNAPSHOT, messages })

/** What readers get of a run that is translated again, event by event, after they have seen the beginning. */
function unseen(seen: readonly AgUiEvent[], again: readonly AgUiEvent[], now: readonly AgUiEvent[] = []): AgUiEvent[] {
  const events = new UnseenEvents(seen, () => now)
  return again.flatMap((event) => events.pass([event]))
}

const BEGUN = [started, state({})]

describe('a run that is translated again', () => {
  test('gives all of it to readers that have seen nothing', () => {
    const whole = [...BEGUN, ...text('m1', 'Hi'), end('m1'), finished]
    expect(unseen([], whole)).toEqual(whole)
  })

  test('gives the rest of a text, however its pieces are cut', () => {
    const content = (delta: string): AgUiEvent => ({ type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'm1', delta })
    const seen = [...BEGUN, ...text('m1', 'Hel'), content('lo, ')]
    const rest = unseen(seen, [...BEGUN, ...text('m1', 'Hello'), content(', world'), end('m1'), finished])
    expect(rest).toEqual([content('world'), end('m1'), finished])
  })

  test('gives the rest of what a tool shows, and nothing of what it showed', () => {
    const seen = [...BEGUN, ...text('m1', 'a'), ...call('c1'), output('half '), output('wh')]
    const again = [...BEGUN, ...text('m1', 'a'), ...call('c1'), output('half whole'), result('c1')]
    expect(unseen(seen, again)).toEqual([output('ole'), result('c1')])
  })

  test('takes branches that come in another order for the same', () => {
    const left = [...text('l', 'left'), end('l')]
    const right = [...text('r', 'right'), end('r')]
    expect(unseen([...BEGUN, ...left, ...right], [...BEGUN, ...right, ...left, finished])).toEqual([finished])
  })

  test('knows the time of an event as nothing', () => {
    const timed = (timestamp: number) =>
      [started, custom('progress', { a: 1 })].map((event) => ({ ...event, timestamp }))
    expect(unseen(timed(1), timed(2))).toEqual([])
  })

  test('shows what a tool emits, although a tool that does not run again has emitted the same', () => {
    const first = [...BEGUN, ...text('m1', 'a'), ...call('c1')]
    const seen = [...first, custom('progress'), result('c1'), ...call('c2')]
    const again = [...first, result('c1'), ...call('c2'), custom('progress'), result('c2')]
    expect(unseen(seen, again)).toEqual([custom('progress'), result('c2')])
  })

  test('shows what a tool emits once, if the tool runs again', () => {
    const seen = [...BEGUN, ...text('m1', 'a'), ...call('c1'), custom('progress', 1)]
    expect(unseen(seen, [...seen, custom('progress', 2), result('c1')])).toEqual([custom('progress', 2), result('c1')])
  })

  test('corrects a text that comes again with other words, when its message has ended', () => {
    const corrected = snapshot({ id: 'm1', role: 'assistant', content: 'Good day' })
    const seen = [...BEGUN, ...text('m1', 'Hello')]
    expect(unseen(seen, [...BEGUN, ...text('m1', 'Good day'), end('m1'), finished], [corrected])).toEqual([
      end('m1'),
      corrected,
      finished,
    ])
  })

  test('corrects a text that is shorter now', () => {
    const corrected = snapshot({ id: 'm1', role: 'assistant', content: 'Hel' })
    const seen = [...BEGUN, ...text('m1', 'Hello')]
    expect(unseen(seen, [...BEGUN, ...text('m1', 'Hel'), end('m1')], [corrected])).toEqual([end('m1'), corrected])
  })

  test('corrects a result that a process without its lease has shown', () => {
    const corrected = snapshot({ id: 'c1-result', role: 'tool', toolCallId: 'c1', content: 'red' })
    const seen = [...BEGUN, ...text('m1', 'a'), ...call('c1'), { ...result('c1'), content: 'lost' } as AgUiEvent]
    expect(unseen(seen, [...BEGUN, ...text('m1', 'a'), ...call('c1'), result('c1')], [corrected])).toEqual([corrected])
  })

  test('holds a correction back until everything that was said has come again', () => {
    const now = snapshot({ id: 'r', role: 'assistant', content: 'right' })
    const seen = [...BEGUN, ...text('l', 'left'), end('l'), ...text('r', 'right')]
    const again = [...BEGUN, ...text('l', 'left'), end('l'), snapshot(), ...text('r', 'right'), end('r')]
    expect(unseen(seen, again, [now])).toEqual([now, end('r')])
  })

  test('does not repeat a correction that readers have', () => {
    const corrected = snapshot({ id: 'm2', role: 'assistant', content: 'b' })
    const seen = [...BEGUN, ...text('m1', 'a'), end('m1'), snapshot(), ...text('m2', 'b')]
    expect(unseen(seen, [...seen, end('m2')], [corrected])).toEqual([end('m2')])
  })

  test('brings the state to what it is, once', () => {
    const seen = [...BEGUN, ...text('m1', 'a'), ...call('c1'), set('gone'), set('kept')]
    const again = [...BEGUN, ...text('m1', 'a'), set('kept'), ...call('c1'), set('more'), state({ kept: 1, more: 1 })]
    expect(unseen(seen, again)).toEqual([
      { type: EventType.STATE_DELTA, delta: [{ op: 'remove', path: '/gone' }] },
      set('more'),
      state({ kept: 1, more: 1 }),
    ])
  })

  test('does not wait for agents inside a call that was recorded as a whole', () => {
    const inside = [
      { type: EventType.SUBAGENT_STARTED, subagentRunId: 'S', name: 'helper', parentToolCallId: 'c1' } as const,
      ...text('i1', 'inside', { subagentRunId: 'S' }),
    ]
    const seen = [...BEGUN, ...text('m1', 'a'), ...call('c1'), ...inside, result('c1')]
    const again = [...BEGUN, ...text('m1', 'a'), ...call('c1'), result('c1'), set('a')]
    expect(unseen(seen, again)).toEqual([set('a')])
  })

  test('ends what readers have seen begin and what does not come again', () => {
    const seen = [...BEGUN, { type: EventType.STEP_STARTED, stepName: 'clerk' } as const, ...text('m1', 'a')]
    expect(unseen(seen, [...BEGUN, finished])).toEqual([
      end('m1'),
      { type: EventType.STEP_FINISHED, stepName: 'clerk' },
      finished,
    ])
  })
})
