import type { UserMessage } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import { givenBy, withGiven, withGivenOf } from './given-messages.ts'

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
  const carried = withGiven({ runId: 'r' }, resume)
  const history = toAgUiMessages([go])
  expect(withGivenOf(history, carried).map(({ id }) => id)).toEqual(['u1', 'u2'])
  expect(withGivenOf(toAgUiMessages([go, well]), carried).map(({ id }) => id)).toEqual(['u1', 'u2'])
  expect(withGivenOf(history, undefined)).toEqual(history)
})

test('the messages of a run without answers are in its thread, and are not carried', () => {
  const plan = { kind: 'run', input: { messages: [go] } } as const
  expect(givenBy(plan)).toEqual([go])
  expect(withGiven({ runId: 'r' }, plan)).toEqual({ runId: 'r' })
})
