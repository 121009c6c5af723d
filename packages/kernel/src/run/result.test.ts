import { beforeEach, describe, expect, test } from 'vitest'
import type { AgentInput, EventDraft, EventOf, Interrupt, Message, RunResult } from '../index.ts'
import { KernelError } from '../index.ts'
import { startRun } from '../run.ts'
import { collect, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'
import { agentOf, input } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

const usage = { inputTokens: 0, outputTokens: 0 }
const calling = (...ids: readonly string[]) => ({
  id: 'm',
  role: 'assistant' as const,
  content: 'calling',
  toolCalls: ids.map((id) => ({ id, name: 't', arguments: '{}' })),
})
const said = (
  content: string,
  more: Partial<Pick<EventOf<'message-end'>, 'output' | 'usage' | 'dropped'>> = {},
): EventDraft => ({
  type: 'message-end',
  message: { id: content, role: 'assistant', content },
  ...more,
})
const called = (...ids: readonly string[]): EventDraft => ({ type: 'message-end', message: calling(...ids) })
const result = (callId: string, status: 'complete' | 'failed' | 'dropped' = 'complete'): EventDraft => ({
  type: 'tool-end',
  callId,
  messageId: `${callId}!`,
  name: 't',
  status,
  content: `${callId} done`,
})
const question = (id: string, callId?: string): Interrupt => ({
  id,
  reason: 'input',
  agentName: 'a',
  ...(callId !== undefined && { callId }),
})
const asking = (...interrupts: readonly Interrupt[]): EventDraft => ({
  type: 'action',
  action: { type: 'interrupt', interrupts },
})
const exit = (output: string): EventDraft => ({ type: 'action', action: { type: 'exit', result: output } })
const leave: EventDraft = { type: 'action', action: { type: 'exit' } }
const custom: EventDraft = { type: 'action', action: { type: 'custom', name: 'x' } }

/** The result of a run whose agent yields these events, and then perhaps throws. */
async function resultOf(drafts: readonly EventDraft[], start: AgentInput = input, error?: unknown) {
  const agent = agentOf('a', async function* () {
    yield* drafts
    if (error) raise(error)
  })
  const end = (await collect(startRun(agent, start, { runId: 'R' }))).at(-1)
  const { type, runId, agentName, runPath, ...rest } = end ?? expect.fail('no event at all')
  expect([type, runId, agentName, runPath]).toEqual(['run-end', 'R', 'a', []])
  return rest
}

const complete = (more: Partial<RunResult>) => ({ outcome: 'complete', text: '', usage, ...more })

describe('a run comes to', () => {
  test.each<[string, readonly EventDraft[], Partial<RunResult>]>([
    ['nothing where nothing was said', [], {}],
    ['the text of its last message', [said('one'), said('two')], { text: 'two' }],
    [
      'the message before a dropped attempt, whose tokens count',
      [said('one'), said('two', { usage: { inputTokens: 3, outputTokens: 4 }, dropped: true })],
      { text: 'one', usage: { inputTokens: 3, outputTokens: 4 } },
    ],
    ['the result that no message has followed', [called('c'), result('c')], { text: 'c done' }],
    ['a failed result too', [called('c'), result('c', 'failed')], { text: 'c done' }],
    ['the message before a dropped result', [called('c'), result('c', 'dropped')], { text: 'calling' }],
    ['the message after a result', [called('c'), result('c'), said('done')], { text: 'done' }],
    [
      'its last message while a call is open, which it names',
      [called('c', 'd'), result('c')],
      { text: 'calling', openCallIds: ['d'] },
    ],
    ['the open calls of every message', [called('c'), called('d')], { text: 'calling', openCallIds: ['c', 'd'] }],
    ['the result of its exit, whatever is asked for next', [exit('out'), custom], { output: 'out' }],
    ['the output of its last message', [said('{}', { output: { a: 1 } })], { text: '{}', output: { a: 1 } }],
    ['no output where a message without one came last', [said('{}', { output: 1 }), said('one')], { text: 'one' }],
    ['the result of its exit, whatever is said after it', [exit('out'), said('one')], { text: 'one', output: 'out' }],
    [
      'the result of its exit, whatever output follows it',
      [exit('out'), said('{}', { output: 1 })],
      { text: '{}', output: 'out' },
    ],
    ['the result of its last exit', [exit('one'), exit('two')], { output: 'two' }],
    ['no output where its exit has no result', [said('{}', { output: 1 }), leave], { text: '{}' }],
  ])('%s', async (_, drafts, expected) => {
    expect(await resultOf(drafts)).toStrictEqual(complete(expected))
  })

  test('the calls that its history leaves open and that have no answer', async () => {
    const user: Message = { id: 'u', role: 'user', content: 'go' }
    expect(await resultOf([result('c')], { messages: [user, calling('c', 'd')] })).toStrictEqual(
      complete({ openCallIds: ['d'] }),
    )
  })

  test('the text that its history has kept, whatever is answered after it, unless a message follows', async () => {
    const kept = { actions: [], direct: true } as const
    const one: Message = { id: 'r', role: 'tool', callId: 'c', name: 't', content: 'kept', kept }
    const start = { messages: [calling('c', 'd'), one] }
    expect(await resultOf([result('d')], start)).toStrictEqual(complete({ text: 'kept' }))
    expect(await resultOf([], start)).toStrictEqual(complete({ openCallIds: ['d'] }))
    expect(await resultOf([result('d'), said('two')], start)).toStrictEqual(complete({ text: 'two' }))
    const spoken: Message = { id: 'u', role: 'user', content: 'go on' }
    expect(await resultOf([result('d')], { messages: [...start.messages, spoken] })).toStrictEqual(
      complete({ text: 'd done' }),
    )
  })

  test('its questions, each once, and to the calls that wait for none of them', async () => {
    const [one, two, again] = [question('1', 'c'), question('2'), { ...question('1', 'c'), message: 'again' }]
    const drafts = [called('c', 'd'), asking(one), asking(two), asking(again), custom]
    expect(await resultOf(drafts)).toStrictEqual({
      outcome: 'interrupted',
      text: 'calling',
      usage,
      interrupts: [again, two],
      openCallIds: ['d'],
    })
  })

  test('its last message and no open call where it failed', async () => {
    const error = new KernelError('MINE', 'mine: no')
    const failed = { outcome: 'failed', text: 'calling', usage, error: { code: 'MINE', message: 'mine: no' } }
    expect(await resultOf([called('c'), result('c')], input, error)).toStrictEqual(failed)
    expect(await resultOf([called('c')], input, error)).toStrictEqual(failed)
  })
})

describe('awaiting a failed run rejects with', () => {
  const failing = (error: unknown) =>
    startRun(
      agentOf('a', () => raise(error)),
      input,
    )

  test('the very error that was thrown', async () => {
    const thrown = new KernelError('MINE', 'mine: no', { cause: 'why' })
    await expect(failing(thrown)).rejects.toBe(thrown)
  })

  test('a KernelError whose cause is what was thrown', async () => {
    const cause = new RangeError('out of range')
    await expect(failing(cause)).rejects.toMatchObject({ code: 'AGENT_FAILED', message: 'out of range', cause })
  })
})
