import type { Message, Thread } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { storedEnd } from './stored-end.ts'

const thread: Thread = {
  ref: { app: 'a', user: 'u', threadId: 't' },
  seq: 1,
  version: 1,
  state: {},
  openCalls: [],
  waiting: false,
  updatedAt: 0,
}
const asked: Message = { id: 'u1', role: 'user', content: 'Go' }
const calling: Message = {
  id: 'm1',
  role: 'assistant',
  content: '',
  toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }],
}
const result: Message = { id: 't1', role: 'tool', callId: 'c1', name: 'look', content: 'found' }
const answer: Message = { id: 'm2', role: 'assistant', content: 'It is red.' }
const rows = (...messages: Message[]) => messages.map((message) => ({ runId: 'R', message }))
const interrupt = { id: 'c1#x', reason: 'approval', agentName: 'clerk', callId: 'c1' }
const checkpoint = { format: 1, runId: 'R', agentName: 'clerk', interrupts: [interrupt], state: null }

describe('the end of a run in its thread', () => {
  test('is an answer, with everything before it', () => {
    const events = storedEnd(thread, rows(asked, calling, result, answer), 'R')
    expect(events?.map(({ type }) => type)).toEqual(['run-start', 'message-end', 'tool-end', 'message-end', 'run-end'])
    expect(events?.at(-1)).toMatchObject({ outcome: 'complete' })
  })

  test('is a question', () => {
    const events = storedEnd({ ...thread, checkpoint }, rows(asked, calling), 'R')
    expect(events?.at(-1)).toMatchObject({ outcome: 'interrupted', interrupts: [interrupt] })
  })

  test('is a call that waits for its result', () => {
    const openCalls = [{ callId: 'c1', name: 'look', agentName: 'clerk' }]
    const events = storedEnd({ ...thread, openCalls }, rows(asked, calling), 'R')
    expect(events?.at(-1)).toMatchObject({ outcome: 'complete', openCallIds: ['c1'] })
  })

  test.each([
    ['has no answer', thread, rows(asked)],
    ['has not come to an answer', thread, rows(asked, calling, result)],
    ['broke off in an answer', thread, rows(asked, { ...answer, partial: true })],
    [
      'asked what another run has answered',
      { ...thread, checkpoint },
      [...rows(asked, calling), { runId: 'S', message: asked }],
    ],
    ['is not in the thread', thread, []],
  ])('is not certain for a run that %s', (_, state, messages) => {
    expect(storedEnd(state, messages, 'R')).toBeUndefined()
  })
})
