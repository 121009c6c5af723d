import { describe, expect, test } from 'vitest'
import { official, strict } from '../pipeline.fixture.ts'
import type { AgUiEvent } from '../protocol.ts'
import { runWriter } from './run-writer.ts'

const event = (type: string, rest: object = {}) => ({ type, ...rest }) as AgUiEvent
const started = event('RUN_STARTED', { threadId: 't', runId: 'r' })
const finished = event('RUN_FINISHED', { threadId: 't', runId: 'r', outcome: { type: 'success' } })
const failed = event('RUN_ERROR', { message: 'x' })
const types = (events: readonly AgUiEvent[]) => events.map(({ type }) => String(type))

function refusals(events: readonly AgUiEvent[]): readonly string[] {
  const refused: string[] = []
  const writer = runWriter({ onRefused: ({ type }, reason) => refused.push(`${type}: ${reason}`) })
  for (const item of events) writer.write(item)
  return refused
}

const OPEN = [
  event('STEP_STARTED', { stepName: 'a' }),
  event('TOOL_CALL_START', { toolCallId: 'c', toolCallName: 'n' }),
  event('SUBAGENT_STARTED', { subagentRunId: 's', name: 'n' }),
  event('STEP_STARTED', { stepName: 'a', subagentRunId: 's' }),
  event('REASONING_START', { messageId: 'q', subagentRunId: 's' }),
  event('REASONING_MESSAGE_START', { messageId: 'q', role: 'reasoning', subagentRunId: 's' }),
  event('TEXT_MESSAGE_START', { messageId: 'm', subagentRunId: 's' }),
]

describe('the end of a run', () => {
  test.each([
    [
      'RUN_FINISHED',
      event('RUN_FINISHED', { threadId: 't', runId: 'r', outcome: { type: 'cancelled' } }),
      'SUBAGENT_ERROR',
    ],
    ['RUN_ERROR', failed, 'SUBAGENT_ERROR'],
    [
      'a question',
      event('RUN_FINISHED', {
        threadId: 't',
        runId: 'r',
        outcome: { type: 'interrupt', interrupts: [{ id: 'i', reason: 'x' }] },
      }),
      'SUBAGENT_FINISHED',
    ],
  ])('by %s closes open entities, the last one first', async (_name, terminal, ofSubagent) => {
    const writer = runWriter()
    const events = [...writer.writeAll([started, ...OPEN]), ...writer.write(terminal)]
    expect(types(events).slice(8, -1)).toEqual([
      'TEXT_MESSAGE_END',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'STEP_FINISHED',
      ofSubagent,
      'TOOL_CALL_END',
      'STEP_FINISHED',
    ])
    expect(await official(events)).toEqual(events)
    strict(events)
  })

  test('comes once, with nothing after it', () => {
    const writer = runWriter()
    writer.write(started)
    expect(types(writer.writeAll([finished, failed, event('CUSTOM', { name: 'x', value: 1 })]))).toEqual([
      'RUN_FINISHED',
    ])
    expect(writer.ended).toBe(true)
    expect([writer.end(), writer.end(failed), writer.write(finished)]).toEqual([[], [], []])
  })

  test('is a RUN_ERROR if none is given', () => {
    const writer = runWriter()
    writer.write(started)
    expect(writer.end()).toMatchObject([{ type: 'RUN_ERROR', code: 'BACKGROUND_EXECUTION_ERROR' }])
  })

  test('an end that is not a terminal is ignored', () => {
    expect(runWriter().end(started)).toMatchObject([{ type: 'RUN_ERROR' }])
  })

  test('without a start is an error, or adds the start', async () => {
    expect(types(runWriter().end(failed))).toEqual(['RUN_ERROR'])
    const events = runWriter().end(finished)
    expect(types(events)).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
    await official(events)
  })
})

test('events that need no change are returned as the same array', () => {
  const writer = runWriter()
  const first = [started, event('TEXT_MESSAGE_START', { messageId: 'm' })]
  expect(writer.writeAll(first)).toBe(first)
})

describe('an event that is out of order is left out and reported', () => {
  const m = { messageId: 'm' }
  const of = (owner: string, rest: object) => ({ ...rest, subagentRunId: owner })
  test.each<[string, AgUiEvent[], string]>([
    ['content before its start', [event('TEXT_MESSAGE_CONTENT', { ...m, delta: 'x' })], 'text message m is not open'],
    [
      'a second start',
      [event('TEXT_MESSAGE_START', m), event('TEXT_MESSAGE_START', m)],
      'text message m is already open',
    ],
    ['an end too many', [event('TOOL_CALL_END', { toolCallId: 'c' })], 'tool call c is not open'],
    ['thinking without a start', [event('REASONING_END', m)], 'reasoning m is not open'],
    ['a step that is not open', [event('STEP_FINISHED', { stepName: 's' })], 'step s is not open'],
    [
      'content of another agent',
      [event('TEXT_MESSAGE_START', m), event('TEXT_MESSAGE_CONTENT', of('s', { ...m, delta: 'x' }))],
      'text message m belongs to another agent',
    ],
    [
      'an id that another agent has used',
      [event('TEXT_MESSAGE_START', m), event('TEXT_MESSAGE_END', m), event('TEXT_MESSAGE_START', of('s', m))],
      'text message m belongs to another agent',
    ],
    [
      'a call in a message of another agent',
      [
        event('TEXT_MESSAGE_START', m),
        event('TOOL_CALL_START', of('s', { toolCallId: 'c', toolCallName: 'n', parentMessageId: 'm' })),
      ],
      'tool call c belongs to a message of another agent',
    ],
    [
      'a second result',
      [
        event('TOOL_CALL_RESULT', { messageId: '1', toolCallId: 'c', content: '' }),
        event('TOOL_CALL_RESULT', { messageId: '2', toolCallId: 'c', content: '' }),
      ],
      'tool call c already has a result',
    ],
    [
      'a sub-agent that has been there',
      [
        event('SUBAGENT_STARTED', { subagentRunId: 's', name: 'n' }),
        event('SUBAGENT_FINISHED', { subagentRunId: 's' }),
        event('SUBAGENT_STARTED', { subagentRunId: 's', name: 'n' }),
      ],
      'sub-agent s has already begun',
    ],
    [
      'a sub-agent in one that is not there',
      [event('SUBAGENT_STARTED', { subagentRunId: 's', name: 'n', parentSubagentRunId: 'x' })],
      'there is no parent sub-agent x',
    ],
    [
      'a change of no activity',
      [event('ACTIVITY_DELTA', { ...m, activityType: 'x', patch: [] })],
      'there is no activity m',
    ],
    [
      'a chunk',
      [event('TEXT_MESSAGE_CHUNK', { ...m, delta: 'x' })],
      'chunks are not allowed; write START, CONTENT and END',
    ],
    ['a second run', [started], 'the run has already started'],
  ])('%s', (_name, events, reason) => {
    expect(refusals([started, ...events])).toEqual([`${events.at(-1)?.type}: ${reason}`])
  })

  test('anything before the start', () => {
    expect(refusals([event('CUSTOM', { name: 'x', value: 1 })])).toEqual(['CUSTOM: the run has not started'])
  })
})

test('a snapshot sets the owners', () => {
  const snapshot = event('MESSAGES_SNAPSHOT', {
    messages: [{ id: 'm', role: 'assistant', content: '', subagentRunId: 's', toolCalls: [{ id: 'c' }] }],
  })
  const start = event('TEXT_MESSAGE_START', { messageId: 'm', subagentRunId: 'other' })
  expect(refusals([started, snapshot, start])).toHaveLength(1)
})
