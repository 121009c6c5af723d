import type { EventDraft } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { follower } from '../pipeline.fixture.ts'
import { run, shown, wire } from './events.fixture.ts'

describe('状态转换 (state)', () => {
  const state = { plan: { steps: ['a', 'b'], done: false }, 'temp:x': 1, hidden: 2 }
  const options = { state, hidden: (key: string) => key === 'hidden' }
  const delta = (set: Record<string, never>, removed: string[] = []): EventDraft => ({
    type: 'state-delta',
    set,
    removed,
  })

  test('the first snapshot comes first, the last one is the sum of the deltas', () => {
    const events = wire([delta({ city: 'Bern' } as never, ['plan'])], {}, options)
    expect(events.slice(0, 2)).toEqual([
      { type: 'RUN_STARTED', threadId: 't1', runId: 'r1', protocolVersion: '1.0' },
      { type: 'STATE_SNAPSHOT', snapshot: { plan: { steps: ['a', 'b'], done: false } } },
    ])
    expect(events.at(-2)).toEqual({ type: 'STATE_SNAPSHOT', snapshot: { city: 'Bern' } })
  })

  test('a patch has only what has changed', () => {
    expect(shown([delta({ plan: { steps: ['a', 'c', 'b'], done: false } } as never)], {}, options)).toEqual([
      { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/plan/steps/1', value: 'c' }] },
    ])
  })

  test('an unchanged value is not sent', () => {
    expect(shown([delta({ plan: { done: false, steps: ['a', 'b'] } } as never)], {}, options)).toEqual([])
  })

  test('temporary and hidden keys are in no snapshot and no delta', () => {
    const drafts = [delta({ 'temp:y': 'secret', hidden: 'secret' } as never, ['temp:x'])]
    expect(JSON.stringify(wire(drafts, {}, options))).not.toMatch(/temp|hidden|secret/)
  })

  test('a value that is changed in place is sent too', () => {
    const list = [1]
    const client = follower({ state: { list } })
    const [first, change, last] = run([delta({ list } as never)])
    if (!first || !change || !last) throw new Error('a run has three events')
    client.take(first)
    list.push(2)
    client.take(change)
    list.push(3)
    client.take(last)
    expect(client.end().slice(1, 4)).toEqual([
      { type: 'STATE_SNAPSHOT', snapshot: { list: [1] } },
      { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/list/1', value: 2 }] },
      { type: 'STATE_SNAPSHOT', snapshot: { list: [1, 2] } },
    ])
  })
})

describe('custom events and activities', () => {
  const custom = (name: string, data: unknown): EventDraft => ({ type: 'custom', name, data: data as never })

  test('custom events are CUSTOM', () => {
    expect(shown([custom('progress', { percent: 5 })])).toEqual([
      { type: 'CUSTOM', name: 'progress', value: { percent: 5 } },
    ])
  })

  test('an activity is a snapshot first, then patches', () => {
    const plan = (done: number) => custom('activity', { id: 'plan', type: 'PLAN', content: { steps: 3, done } })
    expect(shown([plan(0), plan(1), plan(1)])).toEqual([
      {
        type: 'ACTIVITY_SNAPSHOT',
        messageId: 'activity:plan',
        activityType: 'PLAN',
        content: { steps: 3, done: 0 },
        replace: true,
      },
      {
        type: 'ACTIVITY_DELTA',
        messageId: 'activity:plan',
        activityType: 'PLAN',
        patch: [{ op: 'replace', path: '/done', value: 1 }],
      },
    ])
  })

  test('output of a running tool is CUSTOM', () => {
    expect(shown([{ type: 'tool-delta', callId: 'c1', delta: 'half' }])).toEqual([
      { type: 'CUSTOM', name: 'tool-delta', value: { toolCallId: 'c1', delta: 'half' } },
    ])
  })

  test('an error that a flow tolerates is shown as its public part', () => {
    const data = { agentName: 'b', error: { code: 'AGENT_FAILED', message: 'password is 1234' } }
    expect(shown([custom('branch-failed', data)])).toEqual([
      {
        type: 'CUSTOM',
        name: 'branch-failed',
        value: { agentName: 'b', error: { code: 'AGENT_ERROR', message: 'The agent failed.' } },
      },
    ])
  })

  test('a malformed event is reported and not shown', () => {
    const reported: string[] = []
    const broken = { type: 'message-end', message: null } as never
    expect(shown([broken], {}, { report: ({ code }) => reported.push(code) })).toEqual([])
    expect(reported).toEqual(['EVENT_INVALID'])
  })
})
