import type { UserMessage } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import { carriedMessages, givenBy, withGiven, withMessages } from './given-messages.ts'

const well: UserMessage = { id: 'u2', role: 'user', content: 'Well?' }
const go: UserMessage = { id: 'u1', role: 'user', content: 'Go' }
const resume = {
  kind: 'resume',
  given: { answers: {}, closed: ['q'] },
  additions: {},
  results: [],
  users: [well],
  change: undefined,
  processed: [],
} as const

test('whoever continues a run shows the messages that came beside its answers, once', () => {
  const carried = carriedMessages(withGiven({ runId: 'r' }, resume, undefined))
  const history = toAgUiMessages([go])
  expect(withMessages(history, carried).map(({ id }) => id)).toEqual(['u1', 'u2'])
  expect(withMessages(toAgUiMessages([go, well]), carried).map(({ id }) => id)).toEqual(['u1', 'u2'])
  expect(withMessages(history, carriedMessages(undefined))).toEqual(history)
})

test('the messages of a run without answers are in its thread, and are not carried', () => {
  const plan = { kind: 'run', input: { messages: [go] } } as const
  expect(givenBy(plan, undefined)).toEqual([go])
  expect(withGiven({ runId: 'r' }, plan, undefined)).toEqual({ runId: 'r' })
})

test('messages that came with earlier answers are before those of the request', () => {
  const checkpoint = { format: 1, runId: 'r0', agentName: 'desk', interrupts: [], state: null, next: [go] }
  expect(givenBy(resume, { checkpoint })).toEqual([go, well])
})
