import type { Message as AgUiMessage } from '@ag-ui/core'
import type { Message, Thread } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { Room } from '../input/kernel-content.ts'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import { ANN } from './agent.fixture.ts'
import { askedAgain, replacedBy } from './asked-again.ts'

const picture = { type: 'file', mediaType: 'image/png', data: 'aGk=', metadata: { openai: { detail: 'low' } } } as const
const user: Message = { id: 'u', role: 'user', content: [{ type: 'text', text: 'See' }, picture] }
const answer: Message = { id: 'a', role: 'assistant', content: 'Seen.' }
const half: Message = { id: 'a', role: 'assistant', content: 'Se', partial: true }
const result: Message = { id: 'r', role: 'tool', callId: 'c', name: 'look', content: 'a cat' }
const thread: Thread = { ref: ANN, seq: 1, version: 1, state: {}, openCalls: [], waiting: false, updatedAt: 0 }

function asked(messages: readonly AgUiMessage[], last: Message, after: readonly Message[], more: Partial<Thread> = {}) {
  const place = { last, after, ends: messages.at(-1)?.id === last.id, runIds: new Set(['r0']) }
  return askedAgain({ messages: [...messages], runId: 'r1' }, place, { ...thread, ...more }, new Room(100))
}
const shown = (...messages: Message[]) => toAgUiMessages(messages)

describe('a request with nothing new', () => {
  test.each([
    ['a turn without an answer', shown(user), user, [], { users: [] }],
    ['half an answer', shown(user, half), half, [], { cut: { before: 'a' }, users: [], takesBack: true }],
    ['a result that no model has seen', shown(user, result), result, [], { users: [] }],
    ['an answer that was cut off', shown(user), user, [answer], { cut: { at: 'u' }, users: [] }],
    ['a result whose answer was cut off', shown(user, result), result, [answer], { cut: { at: 'r' }, users: [] }],
    ['one of several results', shown(user, result), result, [{ ...result, id: 'r2' }, answer], undefined],
    [
      'a message of its own after the turn',
      [...shown(user), { id: 'x', role: 'system', content: '' }],
      user,
      [],
      { users: [] },
    ],
    ['an answered turn', shown(user, answer), answer, [], undefined],
    ['an older view', shown(user, answer), answer, [user, answer], undefined],
  ] as const)('that ends with %s', (_, messages, last, after, expected) => {
    expect(asked(messages as readonly AgUiMessage[], last, after)).toEqual(expected)
  })

  test('that ends with a changed text replaces the message', () => {
    const given: AgUiMessage = { id: 'u', role: 'user', content: 'Look' }
    const expected = { cut: { before: 'u' }, users: [{ id: 'u', role: 'user', content: 'Look' }] }
    expect(asked([given], user, [answer])).toEqual(expected)
  })

  test('asks for nothing but an edit while a call is open, and for nothing if its run was there before', () => {
    expect(asked(shown(user), user, [answer], { waiting: true })).toBeUndefined()
    const given: AgUiMessage = { id: 'u', role: 'user', content: 'Look' }
    expect(asked([given], user, [answer], { waiting: true })).toMatchObject({ cut: { before: 'u' } })
    const place = { last: user, after: [answer], ends: true, runIds: new Set(['r1']) }
    expect(askedAgain({ messages: shown(user), runId: 'r1' }, place, thread, new Room(100))).toBeUndefined()
  })
})

test('answers that are sent twice do not ask for another answer, unless there is none', () => {
  const resume = [{ interruptId: 'q', status: 'resolved', payload: 1 } as const]
  const place = { last: user, after: [answer], ends: true, runIds: new Set<string>() }
  const request = { messages: shown(user), runId: 'r1', resume }
  expect(askedAgain(request, place, thread, new Room(100))).toBeUndefined()
  expect(askedAgain(request, { ...place, after: [] }, thread, new Room(100))).toEqual({ users: [] })
})

test('new messages replace the next user message, unless the client shows it', () => {
  const place = { last: answer, after: [result, { ...user, id: 'u2' }], ends: true, runIds: new Set<string>() }
  expect(replacedBy({ messages: shown(user, answer) }, place)).toBe('u2')
  expect(replacedBy({ messages: shown(user, answer, { ...user, id: 'u2' }) }, place)).toBeUndefined()
  expect(replacedBy({ messages: shown(user, answer) }, { ...place, after: [result] })).toBeUndefined()
})
