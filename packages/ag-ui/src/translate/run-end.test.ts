import type { EventDraft, Interrupt } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { call, message, wire } from './events.fixture.ts'
import { publicError, runError } from './run-error.ts'

const last = (end: object, options = {}) => wire([], end, options).at(-1)
const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, cacheWriteTokens: 2 }

describe('a run that is complete', () => {
  test('is RUN_FINISHED with success, its output and its tokens', () => {
    expect(last({ output: { city: 'Bern' }, usage })).toEqual({
      type: 'RUN_FINISHED',
      threadId: 't1',
      runId: 'r1',
      result: { city: 'Bern' },
      outcome: { type: 'success' },
      usage: [{ inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4, cacheWriteInputTokens: 2 }],
    })
  })

  test('shows no tokens if none were counted', () => {
    expect(last({})).not.toHaveProperty('usage')
  })

  test('has the tokens of each model, and those whose model is unknown', () => {
    const said = (id: string, model: string, inputTokens: number) =>
      ({ ...message(id, 'Hi'), model, usage: { inputTokens, outputTokens: 1 } }) as EventDraft
    const total = { inputTokens: 20, outputTokens: 4, cachedInputTokens: 4 }
    const events = wire([said('m1', 'small', 3), said('m2', 'large', 10), said('m3', 'small', 4)], { usage: total })
    expect(events.at(-1)).toMatchObject({
      usage: [
        { model: 'small', inputTokens: 7, outputTokens: 2, totalTokens: 9 },
        { model: 'large', inputTokens: 10, outputTokens: 1, totalTokens: 11 },
        { inputTokens: 3, outputTokens: 1, totalTokens: 4, cachedInputTokens: 4 },
      ],
    })
  })
})

describe('a run that asks', () => {
  const interrupts: Interrupt[] = [
    {
      id: 'c1#x',
      reason: 'approval',
      message: 'Delete it?',
      responseSchema: { type: 'object' },
      expiresAt: Date.UTC(2026, 0, 2),
      metadata: { tool: 'delete' },
      agentName: 'root',
      callId: 'c1',
    },
  ]
  const asking = [
    ...call('m1', 'c1', 'delete', '{}'),
    message('m1', '', [{ id: 'c1', name: 'delete', arguments: '{}' }]),
  ]

  test('shows the conversation, then the questions', () => {
    const events = wire(asking, { outcome: 'interrupted', interrupts }, { history: [] })
    expect(events.slice(-2)).toEqual([
      {
        type: 'MESSAGES_SNAPSHOT',
        messages: [
          {
            id: 'm1',
            role: 'assistant',
            name: 'root',
            toolCalls: [{ id: 'c1', type: 'function', function: { name: 'delete', arguments: '{}' } }],
          },
        ],
      },
      {
        type: 'RUN_FINISHED',
        threadId: 't1',
        runId: 'r1',
        outcome: {
          type: 'interrupt',
          interrupts: [
            {
              id: 'c1#x',
              reason: 'tool_call',
              message: 'Delete it?',
              toolCallId: 'c1',
              responseSchema: { type: 'object' },
              expiresAt: '2026-01-02T00:00:00.000Z',
              metadata: { tool: 'delete', agentName: 'root' },
            },
          ],
        },
      },
    ])
  })

  test('a limit that is not a date is left out', () => {
    const [first] = interrupts
    const odd = [{ ...first, expiresAt: Number.MAX_VALUE }]
    const end = last({ outcome: 'interrupted', interrupts: odd }) as { outcome: { interrupts: object[] } }
    expect(end.outcome.interrupts[0]).not.toHaveProperty('expiresAt')
  })
})

test('a run that is cancelled is RUN_FINISHED with that outcome and no result', () => {
  const error = { code: 'ABORTED', message: 'x' }
  expect(last({ outcome: 'cancelled', output: 1, error })).toEqual({
    type: 'RUN_FINISHED',
    threadId: 't1',
    runId: 'r1',
    outcome: { type: 'cancelled' },
  })
})

describe('错误处理 (a run that failed)', () => {
  const failed = (code: string, options = {}) =>
    last({ outcome: 'failed', error: { code, message: 'the password is 1234', retryable: true }, usage }, options)

  test('is RUN_ERROR with a public code, a fixed sentence, the request and its tokens', () => {
    expect(failed('AGENT_FAILED', { requestId: 'q1' })).toEqual({
      type: 'RUN_ERROR',
      code: 'AGENT_ERROR',
      message: 'The agent failed.',
      usage: [{ inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4, cacheWriteInputTokens: 2 }],
      metadata: { requestId: 'q1', retryable: true },
    })
  })

  test.each([
    ['TIMEOUT', 'EXECUTION_TIMEOUT'],
    ['MAX_ITERATIONS', 'MAX_ITERATIONS'],
    ['MODEL_AUTH_FAILED', 'AGENT_ERROR'],
    ['constructor', 'AGENT_ERROR'],
  ])('%s is %s', (code, shown) => {
    expect(publicError({ code }).code).toBe(shown)
    expect(JSON.stringify(failed(code))).not.toContain('1234')
  })

  test('may have another text', () => {
    expect(failed('MINE', { publicError: () => ({ code: 'OURS', message: 'Oops.' }) })).toMatchObject({
      code: 'OURS',
      message: 'Oops.',
    })
  })

  test('has no metadata without a request id', () => {
    expect(runError({ code: 'X', message: 'Y' })).toEqual({ type: 'RUN_ERROR', code: 'X', message: 'Y' })
  })
})
