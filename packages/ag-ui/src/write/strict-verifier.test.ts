import { describe, expect, test } from 'vitest'
import { strict } from '../pipeline.fixture.ts'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'

const event = (type: string, rest: object = {}) => ({ type, ...rest }) as AgUiEvent
const ids = { threadId: 't', runId: 'r' }
const started = event('RUN_STARTED', ids)
const finished = (outcome: object = { type: 'success' }) => event('RUN_FINISHED', { ...ids, outcome })
const asked = event('TOOL_CALL_START', { toolCallId: 'c', toolCallName: 'n' })
const ended = event('TOOL_CALL_END', { toolCallId: 'c' })
const answered = event('TOOL_CALL_RESULT', { messageId: 'm', toolCallId: 'c', content: '' })
const state = (snapshot: object) => event('STATE_SNAPSHOT', { snapshot })
const delta = (...patch: object[]) => event('STATE_DELTA', { delta: patch })
const text = event('TEXT_MESSAGE_START', { messageId: 'm' })
const piece = event('TEXT_MESSAGE_CONTENT', { messageId: 'm', delta: 'Hi' })
const closed = event('TEXT_MESSAGE_END', { messageId: 'm' })
const messages = (...list: object[]) => event('MESSAGES_SNAPSHOT', { messages: list })
const past = [
  { id: 'a', role: 'assistant', toolCalls: [{ id: 'c', type: 'function', function: { name: 'n', arguments: '' } }] },
] as AgUiMessage[]

describe('a correct stream may have', () => {
  test.each<[string, AgUiEvent[], AgUiMessage[]?]>([
    ['an error alone', [event('RUN_ERROR', { message: 'x' })]],
    ['a call and its result', [started, asked, ended, answered, finished()]],
    ['a call that is pending', [started, asked, ended, finished({ type: 'success', pendingToolCallIds: ['c'] })]],
    ['a call that waits for an answer', [started, asked, ended, finished({ type: 'interrupt', interrupts: [] })]],
    ['a result of an earlier call', [started, answered, finished()], past],
    ['a result of a call in a snapshot', [started, messages(...past), answered, finished()]],
    [
      'snapshots that are the sum of the deltas',
      [
        started,
        state({ a: 1 }),
        delta({ op: 'remove', path: '/a' }, { op: 'add', path: '/b', value: 2 }),
        state({ b: 2 }),
        finished(),
      ],
    ],
    [
      'a snapshot with what is being written',
      [started, text, piece, messages({ id: 'm', role: 'assistant', content: 'Hi' }), closed, finished()],
    ],
  ])('%s', (_name, events, known) => {
    expect(() => strict(events, known)).not.toThrow()
  })
})

describe('a correct stream never has', () => {
  test.each<[string, AgUiEvent[], RegExp]>([
    ['no terminal', [started], /without a terminal/],
    ['two terminals', [started, finished(), finished()], /the run has ended/],
    ['an end without a start', [finished()], /has not started/],
    ['two starts', [started, started], /the run has already started/],
    ['something before the start', [state({})], /has not started/],
    ['something open at the end', [started, text, finished()], /TEXT_MESSAGE_END is missing/],
    [
      'something open at an error',
      [started, text, event('RUN_ERROR', { message: 'x' })],
      /TEXT_MESSAGE_END is missing/,
    ],
    ['a result of an unknown call', [started, answered], /there is no call c/],
    [
      'a result twice',
      [started, asked, ended, answered, { ...answered, messageId: 'n' } as AgUiEvent],
      /already has a result/,
    ],
    ['a call twice', [started, asked, ended, asked], /has already begun/],
    ['a call that is forgotten', [started, asked, ended, finished()], /no result and is not pending/],
    [
      'a pending call that was never made',
      [started, finished({ type: 'success', pendingToolCallIds: ['x'] })],
      /not open/,
    ],
    ['a delta before any snapshot', [started, delta()], /no snapshot/],
    ['a delta that does not apply', [started, state({}), delta({ op: 'remove', path: '/a' })], /no such key/],
    [
      'a snapshot that is not the sum',
      [started, state({ a: 1 }), state({ a: 2 })],
      /differs from the sum of the deltas/,
    ],
    ['an empty piece', [started, text, event('TEXT_MESSAGE_CONTENT', { messageId: 'm', delta: '' })], /is empty/],
    [
      'an activity change that does not apply',
      [
        started,
        event('ACTIVITY_SNAPSHOT', { messageId: 'x', activityType: 'p', content: {} }),
        event('ACTIVITY_DELTA', {
          messageId: 'x',
          activityType: 'p',
          patch: [{ op: 'replace', path: '/a', value: 1 }],
        }),
      ],
      /no such key/,
    ],
    ['a snapshot without what is being written', [started, text, piece, messages()], /differs from its streamed text/],
    ['one id for two messages', [started, messages({ id: 'a' }, { id: 'a' })], /two messages have the same id/],
  ])('%s', (_name, events, reason) => {
    expect(() => strict(events)).toThrow(reason)
  })
})
