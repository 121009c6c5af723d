import { beforeEach, describe, expect, test } from 'vitest'
import type { Agent, AgentEvent, Message, Run } from '../index.ts'
import { KernelError, say } from '../index.ts'
import { pipe } from '../kit.ts'
import type { RunSettings } from '../run.ts'
import { startRun } from '../run.ts'
import { idle, noUnhandledRejection } from '../stream/stream.fixture.ts'
import { agentOf, boom, callOf, input, quiet, talker } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

const failing = agentOf('a', async function* (ctx) {
  yield* say(ctx, 'so far')
  throw new KernelError('MODEL_FAILED', 'no key')
})

/** Reads events as they come, and gives what was thrown after them. */
async function read(source: AsyncIterable<AgentEvent>): Promise<{ types: string[]; thrown?: unknown }> {
  const types: string[] = []
  try {
    for await (const { type } of source) types.push(type)
  } catch (thrown) {
    return { types, thrown }
  }
  return { types }
}

/** The same by the pipe. */
async function piped(source: AsyncIterable<AgentEvent>): Promise<{ types: string[]; thrown?: unknown }> {
  const types: string[] = []
  try {
    await pipe(source, { write: ({ type }) => void types.push(type) })
  } catch (thrown) {
    return { types, thrown }
  }
  return { types }
}

describe.each([
  ['for await', read],
  ['a pipe', piped],
])('a run read by %s', (_, reading) => {
  test('that failed gives every event, the error and the run-end included, and then throws its error', async () => {
    const { types, thrown } = await reading(startRun(failing, input))
    expect(types.slice(-3)).toEqual(['error', 'agent-end', 'run-end'])
    expect(thrown).toMatchObject({ code: 'MODEL_FAILED', message: 'no key' })
  })

  test('that was cancelled by another party throws ABORTED after its run-end', async () => {
    const controller = new AbortController()
    const agent = agentOf('a', async function* (ctx) {
      yield* say(ctx, 'x')
      controller.abort()
      ctx.throwIfAborted()
    })
    const { types, thrown } = await reading(startRun(agent, input, { signal: controller.signal }))
    expect([types.at(-1), KernelError.is(thrown, 'ABORTED')]).toEqual(['run-end', true])
  })

  test('that ran out of time throws TIMEOUT', async () => {
    const agent = agentOf('a', async function* (ctx) {
      yield* say(ctx, 'x')
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      ctx.throwIfAborted()
    })
    expect((await reading(startRun(agent, input, { timeoutMs: 5 }))).thrown).toMatchObject({ code: 'TIMEOUT' })
  })

  test('throws the very error that awaiting rejects with, cause and stack included', async () => {
    const cause = new Error('deep')
    const run = startRun(
      agentOf('a', () => {
        throw new KernelError('MINE', 'mine', { cause })
      }),
      input,
    )
    const { thrown } = await reading(run)
    expect(thrown).toMatchObject({ code: 'MINE', cause })
    await expect(run).rejects.toBe(thrown)
  })

  test.each<[string, Agent, RunSettings]>([
    ['is complete', talker('a'), {}],
    ['has asked', quiet('a', async (ctx) => void (await ctx.interrupt({ reason: 'input' }))), { canInterrupt: true }],
  ])('that %s throws nothing', async (_, agent, settings) => {
    expect(await reading(startRun(agent, input, settings))).toEqual({ types: expect.arrayContaining(['run-end']) })
  })

  test('whose events alone are wanted never throws', async () => {
    const run = startRun(failing, input)
    expect(await reading(run.eventsWithoutThrowing())).toEqual({ types: expect.arrayContaining(['error', 'run-end']) })
    await expect(run).rejects.toMatchObject({ code: 'MODEL_FAILED' })
  })

  test('that never began throws why; its events alone are none, and awaiting it says why', async () => {
    const open = () => Promise.reject(new KernelError('THREAD_BUSY', 'busy'))
    expect(await reading(startRun(talker('a'), input, {}, { open }))).toMatchObject({
      types: [],
      thrown: { code: 'THREAD_BUSY' },
    })
    const run = startRun(talker('a'), input, {}, { open })
    expect(await reading(run.eventsWithoutThrowing())).toEqual({ types: [] })
    await expect(run).rejects.toMatchObject({ code: 'THREAD_BUSY' })
  })
})

describe('leaving the loop', () => {
  const everywhere = ['run-start', 'agent-start', 'text-delta', 'error', 'agent-end', 'run-end']
  test.each(everywhere)('of a failing run at %s throws nothing', async (at) => {
    for (const source of [startRun(failing, input), startRun(failing, input).eventsWithoutThrowing()]) {
      let last: string | undefined
      for await (const { type } of source) {
        last = type
        if (type === at) break
      }
      expect(last).toBe(at)
    }
    await idle()
  })
})

describe('a run', () => {
  test('has catch and finally, like a promise', async () => {
    const seen: unknown[] = []
    const caught = await startRun(failing, input).catch((error: KernelError) => error.code)
    await startRun(talker('a'), input).finally(() => void seen.push('finally'))
    await expect(startRun(failing, input).finally(() => void seen.push('also'))).rejects.toThrow('no key')
    const passed: Run = startRun(talker('a', 'hi'), input)
    expect([caught, seen, (await passed.catch(boom)).text]).toEqual(['MODEL_FAILED', ['finally', 'also'], 'hi'])
  })

  test('leaves its events to a loop that follows catch and finally', async () => {
    const run = startRun(failing, input)
    const caught = run.catch((error: KernelError) => error.code)
    run.finally(() => undefined).catch(() => undefined)
    const types: string[] = []
    for await (const { type } of run.eventsWithoutThrowing()) types.push(type)
    expect([types.at(-1), await caught]).toEqual(['run-end', 'MODEL_FAILED'])
  })

  test('is read once, with or without throwing', async () => {
    const run = startRun(talker('a'), input)
    await run
    expect(() => run.eventsWithoutThrowing()[Symbol.asyncIterator]()).toThrow(/read once/)
  })
})

describe('the input of a run', () => {
  const echo = agentOf('echo', async function* (ctx, { messages }) {
    yield* say(ctx, JSON.stringify(messages))
  })
  const seen = async (start: Parameters<typeof startRun>[1]): Promise<Message[]> =>
    JSON.parse((await startRun(echo, start, { runId: 'R' })).text)

  test('may be a text', async () => {
    expect(await seen('Hi')).toEqual([{ id: 'R/input:0', role: 'user', content: 'Hi' }])
  })

  test('may have messages without ids, which get one each', async () => {
    const messages = [
      { role: 'user', content: 'a' },
      { id: 'mine', role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ] as const
    expect((await seen({ messages })).map(({ id }) => id)).toEqual(['R/input:0', 'mine', 'R/input:2'])
  })

  test('is checked to its end, also a long list that has grown or changed since it was checked', async () => {
    const messages: Message[] = Array.from({ length: 100 }, (_, i) => ({ id: `${i}`, role: 'user', content: 'x' }))
    await seen({ messages })
    const bad = { id: 'bad', role: 'usr', content: 'x' } as never
    messages.push(bad)
    expect(() => startRun(echo, { messages })).toThrow(/messages\[100\] has an unknown role/)
    messages.length = 99
    messages.push(bad)
    expect(() => startRun(echo, { messages })).toThrow(/messages\[99\] has an unknown role/)
    messages.length = 99
    messages.push({ role: 'user', content: 'no id' } as never)
    expect((await seen({ messages })).at(-1)?.id).toBe('R/input:99')
    expect((await seen({ messages })).at(-1)?.id).toBe('R/input:99')
  })

  test('is handed on as it is where nothing is missing', async () => {
    const given = { messages: [{ id: '1', role: 'user', content: 'a' }] as const }
    let got: unknown
    await startRun(
      quiet('a', async (_, start) => {
        got = start
      }),
      given,
    )
    expect(got).toBe(given)
  })

  test.each<[string, unknown, RegExp]>([
    [
      'an unknown role',
      { role: 'usr', content: 'x' },
      /messages\[0\] has an unknown role, got "usr"; did you mean user\?/,
    ],
    ['a role of elsewhere', { role: 'human', content: 'x' }, /known are system, user, assistant, tool/],
    ['no role', { content: 'x' }, /unknown role, got undefined/],
    [
      'no content',
      { role: 'user', text: 'x' },
      /messages\[0\] needs content, a text or a list of parts, got undefined/,
    ],
    ['content of another kind', { role: 'user', content: { text: 'x' } }, /needs content, .* got an object/],
    [
      'a part of another kind',
      { role: 'user', content: [{ type: 'image_url' }] },
      /unknown type, got "image_url"; known are text/,
    ],
    ['an id that is not a text', { role: 'user', content: 'x', id: 7 }, /id that is not a text, got 7/],
    [
      'calls as another framework writes them',
      { role: 'assistant', content: '', tool_calls: [] },
      /did you mean toolCalls/,
    ],
    [
      'calls whose arguments are not text',
      { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 't', arguments: {} }] },
      /with arguments as JSON text/,
    ],
    ['a text part without text', { role: 'user', content: [{ type: 'text', txt: 'x' }] }, /text part without text/],
    ['a result of no call', { role: 'tool', content: 'x' }, /needs the callId of its call/],
    ['a bare text', 'x', /is a message like \{ role: 'user', content: 'Hi' \}, got "x"/],
    ['nothing', null, /got null/],
  ])('with %s is refused where it is given', (_, message, expected) => {
    const start = () => startRun(echo, { messages: [message as never] })
    expect(start).toThrow(
      expect.objectContaining({ code: 'VALIDATION_FAILED', message: expect.stringMatching(expected) }),
    )
  })
})

test.each<[string, object, RegExp]>([
  ['a limit that is text', { timeoutMs: '50' }, /timeoutMs must be a positive number of milliseconds, got "50"/],
  ['a limit that is not a number', { timeoutMs: Number.NaN }, /timeoutMs must be a positive number/],
  ['a controller as its signal', { signal: new AbortController() }, /signal must be an AbortSignal/],
  ['a text as its session', { session: 't1' }, /session must be \{ app, user, threadId \}, each a text, got "t1"/],
  ['a session without a user', { session: { app: 'a', threadId: 't' } }, /session must be/],
])('a run with %s is refused where it is given', (_, settings, message) => {
  expect(() => startRun(talker('a'), 'Hi', settings)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) }),
  )
})

test('a question that nobody awaits is asked, and leaves no rejection behind', async () => {
  const agent = quiet('a', async (ctx) => void ctx.interrupt({ reason: 'input' }))
  expect(await startRun(agent, 'Hi', { canInterrupt: true })).toMatchObject({ outcome: 'interrupted' })
  await startRun(agent, 'Hi')
  await idle()
})

test.each<[object, RegExp]>([
  [{ type: 'transfer-to-agent', agent: 'b' }, /a transfer needs the agentName of its target, got undefined/],
  [{ type: 'exit', result: () => 1 }, /what exit carries must be JSON, but it is not, got a function/],
  [{ type: 'exit', result: { at: [1n] } }, /but \.at\[0\] is not/],
  [{ type: 'custom', name: 'x', data: new Map() }, /what custom carries must be JSON/],
])('the action %o is refused where it is sent', async (action, message) => {
  const agent = quiet('a', async (ctx) => callOf(ctx, 0).sendAction(action as never))
  await expect(startRun(agent, 'Hi')).rejects.toMatchObject({
    code: 'EVENT_INVALID',
    message: expect.stringMatching(message),
  })
})

describe('the result of a run', () => {
  test('has the messages that the run added, in order, and none that it was given', async () => {
    const agent = agentOf('a', async function* (ctx) {
      yield* say(ctx, 'one')
      yield { type: 'tool-end', callId: 'c', messageId: 'm', name: 't', status: 'complete', content: 'r' }
      yield* say(ctx, 'two')
    })
    const { messages } = await startRun(agent, 'Hi')
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['assistant', 'one'],
      ['tool', 'r'],
      ['assistant', 'two'],
    ])
  })

  test('is in the run-end, except for the messages, which had events of their own', async () => {
    for await (const event of startRun(talker('a'), 'Hi'))
      if (event.type === 'run-end') expect(event).not.toHaveProperty('messages')
  })
})
