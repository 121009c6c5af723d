import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message } from './data/message.ts'
import { inCallOrder, messageOf, openCalls, repairHistory, toolMessage, UNKNOWN_RESULT } from './history.ts'

const user: Message = { id: 'u', role: 'user', content: 'Hi' }
const calling = (...ids: string[]): Message => ({
  id: `a-${ids.join()}`,
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
})
const result = (callId: string): Message => ({
  id: `t-${callId}`,
  role: 'tool',
  callId,
  name: 'look',
  content: 'A cat.',
})
const ids = (messages: readonly Message[]) => messages.map(({ id }) => id)

describe('the order of messages', () => {
  it('of results is that of their calls, which may be in the history before them', () => {
    const messages = [result('b'), result('a'), calling('c', 'd', 'e'), result('e'), result('c'), result('d')]
    const ordered = inCallOrder(messages, [user, calling('a', 'b')])
    expect(ids(ordered)).toEqual(['t-a', 't-b', 'a-c,d,e', 't-c', 't-d', 't-e'])
  })
  it('of a list without results beside each other stays, and so does the list', () => {
    const messages = [calling('a'), result('a'), calling('b'), result('b')]
    expect(inCallOrder(messages)).toBe(messages)
  })
})

describe('openCalls', () => {
  it('are the calls of the last assistant message without a result', () => {
    expect(openCalls([user, calling('a', 'b'), result('a')]).map(({ id }) => id)).toEqual(['b'])
    expect(openCalls([user, calling('a'), result('a')])).toEqual([])
    expect(openCalls([])).toEqual([])
  })
  it('are none once a user message has followed', () => {
    expect(openCalls([calling('a'), user])).toEqual([])
  })
})

describe('repairHistory', () => {
  it('gives the same array where nothing is wrong', () => {
    const sound = [user, calling('a', 'b'), result('a'), result('b'), user]
    expect(repairHistory(sound)).toBe(sound)
  })
  it('answers a call without a result in neutral words, right after its message', () => {
    const repaired = repairHistory([user, calling('a', 'b'), result('b'), user])
    expect(ids(repaired)).toEqual(['u', 'a-a,b', 'a#unknown', 't-b', 'u'])
    expect(repaired[2]).toMatchObject({ role: 'tool', callId: 'a', name: 'look', content: UNKNOWN_RESULT })
  })
  it('leaves a call open that awaits an answer', () => {
    const open = [user, calling('a')]
    expect(repairHistory(open, { awaiting: ['a'] })).toBe(open)
  })
  it('moves a result to its call, and drops results of no call and second results', () => {
    const repaired = repairHistory([user, result('x'), calling('a'), user, result('a'), result('a')])
    expect(ids(repaired)).toEqual(['u', 'a-a', 't-a', 'u'])
  })
  it('pairs any history whatever, keeps what was sound, and has nothing left to do', () => {
    const callId: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c', 'd')
    const message = fc.oneof(
      fc.constant(user),
      fc.uniqueArray(callId, { maxLength: 3 }).map((list) => calling(...list)),
      callId.map(result),
    )
    fc.assert(
      fc.property(fc.array(message, { maxLength: 20 }), fc.uniqueArray(callId), (history, awaiting) => {
        const repaired = repairHistory(history, { awaiting })
        const spoken = (messages: readonly Message[]) => messages.filter(({ role }) => role !== 'tool')
        expect(spoken(repaired)).toEqual(spoken(history))
        const asked = new Set(
          history.flatMap((entry) => (entry.role === 'assistant' ? (entry.toolCalls ?? []) : [])).map(({ id }) => id),
        )
        const answers = repaired.flatMap((entry) => (entry.role === 'tool' ? [entry.callId] : []))
        expect(new Set(answers).size).toBe(answers.length)
        for (const id of asked) expect(answers.includes(id) || awaiting.includes(id)).toBe(true)
        for (const id of answers) expect(asked.has(id)).toBe(true)
        expect(repairHistory(repaired, { awaiting })).toBe(repaired)
      }),
    )
  })
})

it('makes the history entry of a tool-end event, under the id of the event', () => {
  const stamp = { runId: 'r', agentName: 'cat', runPath: [] }
  const end = { ...stamp, type: 'tool-end', callId: 'c', messageId: 'm', name: 'look', status: 'failed' } as const
  const error = { code: 'TOOL_FAILED', message: 'no' }
  const kept = { actions: [{ type: 'break-loop' }], direct: true } as const
  expect(toolMessage({ ...end, content: 'No.', display: 'Nope', data: 1, error, kept })).toEqual({
    id: 'm',
    role: 'tool',
    callId: 'c',
    name: 'look',
    agentName: 'cat',
    content: 'No.',
    display: 'Nope',
    data: 1,
    error,
    kept,
  })
})

describe('messageOf', () => {
  const stamp = { runId: 'r', agentName: 'a', runPath: [] }
  const message = { id: 'm', role: 'assistant', content: 'Hi' } as const

  it('is the message of its end, and says who said it', () => {
    expect(messageOf({ type: 'message-end', ...stamp, message })).toEqual({ ...message, agentName: 'a' })
    const named = { ...message, agentName: 'b' }
    expect(messageOf({ type: 'message-end', ...stamp, message: named })).toBe(named)
  })

  it('is the result of a call', () => {
    const end = { type: 'tool-end', ...stamp, callId: 'c', messageId: 't', name: 'n', content: 'ok' } as const
    expect(messageOf({ ...end, status: 'complete' })).toEqual({
      id: 't',
      role: 'tool',
      callId: 'c',
      name: 'n',
      agentName: 'a',
      content: 'ok',
    })
    expect(messageOf({ ...end, status: 'dropped' })).toBeUndefined()
  })

  it('is nothing for what is in no history', () => {
    expect(messageOf({ type: 'message-end', ...stamp, message, dropped: true })).toBeUndefined()
    expect(messageOf({ type: 'text-delta', ...stamp, messageId: 'm', delta: 'H' })).toBeUndefined()
  })
})
