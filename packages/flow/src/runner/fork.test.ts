import { type Agent, type JsonObject, KernelError, type RunContext, say, type ThreadRef } from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { runNested } from '@troupe/kernel/run'
import { describe, expect, test } from 'vitest'
import { parallel, sequential } from '../index.ts'
import { obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, asking, resultOf, type Setup, session, settled, setup, unsound, user } from './runner.fixture.ts'

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => KernelError.from(error).code,
  )

const tools = {
  ...TOOLS,
  put: (ctx: RunContext, callId: string) => {
    ctx.state.set('last', callId)
    ctx.state.set(callId, 'put')
    ctx.state.set('temp:call', callId)
    return `put ${callId}`
  },
}
const putting = () => obedient('Desk', tools)

/** The state after each message of a thread, by its id. */
async function statesOf({ store }: Pick<Setup, 'store'>, ref: ThreadRef = ANN): Promise<readonly JsonObject[]> {
  const states: JsonObject[] = []
  for (const { message } of await store.threads.messages(ref)) {
    const branch = await store.threads.fork(ref, { at: message.id, to: 'probe' })
    states.push(branch.state)
    await store.threads.delete(branch.ref)
  }
  return states
}

const idAt = async ({ messages }: Setup, index: number, ref: ThreadRef = ANN) =>
  (await messages(ref)).at(index)?.id ?? ''

describe('fork', () => {
  test('retries an answer: the branch ends with the question, and a run without messages answers it', async () => {
    const env = setup()
    const desk = env.runner()
    await desk.query('hi', session)
    const branch = await desk.fork(ANN, { at: await idAt(env, 0) })
    expect(branch).toEqual({ ...ANN, threadId: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect(await env.lines(branch)).toEqual(['user hi'])
    await desk.run({ messages: [] }, { session: branch })
    expect(await env.lines(branch)).toEqual(['user hi', 'assistant heard hi'])
    expect(await env.lines()).toEqual(['user hi', 'assistant heard hi'])
    expect((await env.messages(branch))[1]?.id).not.toBe((await env.messages())[1]?.id)
  })

  test('edits a message: the branch ends before it, and a run says something else', async () => {
    const env = setup()
    const desk = env.runner()
    for (const text of ['one', 'two', 'three']) await desk.query(text, session)
    const branch = await desk.fork(ANN, { before: await idAt(env, 2), to: 'edited' })
    expect(branch.threadId).toBe('edited')
    await desk.query('zwei', { session: branch })
    expect(await env.lines(branch)).toEqual([
      'user one',
      'assistant heard one',
      'user zwei',
      'assistant heard one | zwei',
    ])
    await desk.query('four', session)
    expect((await env.lines()).at(-1)).toBe('assistant heard one | two | three | four')
    expect(await env.lines(branch)).toHaveLength(4)
  })

  test('does not wait for the run of its thread', async () => {
    const env = setup()
    const desk = env.runner()
    await desk.query('hi', session)
    const { token } = await env.store.leases.acquire(ANN, { runId: 'other', ttlMs: 1_000 })
    expect(await env.lines(await desk.fork(ANN, { at: await idAt(env, 1) }))).toHaveLength(2)
    await env.store.leases.release(ANN, token)
  })

  test('is refused for an unknown thread, owner or message, a taken id and malformed arguments', async () => {
    const env = setup()
    const desk = env.runner()
    await desk.query('hi', session)
    const at = await idAt(env, 0)
    expect(await codeOf(desk.fork({ ...ANN, threadId: 'no' }, { at }))).toBe('NOT_FOUND')
    expect(await codeOf(desk.fork({ ...ANN, user: 'ben' }, { at }))).toBe('NOT_FOUND')
    expect(await codeOf(desk.fork(ANN, { at: 'no' }))).toBe('NOT_FOUND')
    expect(await codeOf(desk.fork(ANN, { at, to: ANN.threadId }))).toBe('THREAD_ID_TAKEN')
    expect(await codeOf(desk.fork(ANN, {} as never))).toBe('VALIDATION_FAILED')
    expect(await codeOf(desk.fork({ ...ANN, user: '' }, { at }))).toBe('VALIDATION_FAILED')
    expect(await codeOf(desk.fork(ANN, { messageId: at } as never))).toBe('CONFIG_INVALID')
    expect(await env.store.threads.list(ANN)).toHaveLength(1)
  })
})

describe.each(['step', 'turn'] as const)('the state of a branch, with durability %s', (durability) => {
  test('is that after the message, as the run had it then', async () => {
    const env = setup({ agent: putting(), durability })
    const desk = env.runner()
    const state = { set: { given: 1, 'temp:given': 1 } }
    await desk.run({ messages: [user('call put:a')], state }, session)
    await desk.query('unset a', session)
    expect(await env.lines()).toEqual([
      'user call put:a',
      'assistant -> put:a',
      'tool a: put a',
      'assistant got put a',
      'user unset a',
      'assistant heard call put:a | unset a',
    ])
    const put = { given: 1, last: 'a', a: 'put' }
    const { a: _, ...unset } = put
    expect(await statesOf(env)).toEqual([{ given: 1 }, { given: 1 }, put, put, put, unset])
    expect((await env.store.threads.get(ANN))?.state).toEqual(unset)
  })

  test('has each value as it was, also if a tool changes it in place', async () => {
    const list = {
      ...TOOLS,
      list: (ctx: RunContext, callId: string) => {
        const calls = (ctx.state.get('calls') ?? []) as string[]
        calls.push(callId)
        ctx.state.set('calls', calls)
        return callId
      },
    }
    const env = setup({ agent: obedient('Desk', list), durability })
    const desk = env.runner()
    for (const id of ['a', 'b', 'c']) await desk.query(`call list:${id}`, session)
    const states = await statesOf(env)
    const calls = [2, 6, 10].map((result) => states[result]?.calls)
    expect(calls).toEqual([['a'], ['a', 'b'], ['a', 'b', 'c']])
    expect((await env.store.threads.get(ANN))?.state).toEqual({ calls: ['a', 'b', 'c'] })
  })

  test('has the changes of a parallel branch at its own messages, and after all of them the state of the run', async () => {
    const speaker = (name: string): Agent => ({
      name,
      description: name,
      async *run(_, ctx) {
        for (const n of [1, 2]) {
          ctx.state.set('last', `${name}${n}`)
          ctx.state.set(name, n)
          yield* say(ctx, `${name}${n}`)
        }
        ctx.state.set('end', name)
      },
    })
    const agent = sequential({
      name: 'all',
      agents: [parallel({ name: 'both', agents: [speaker('a'), speaker('b')] }), speaker('c')],
    })
    const env = setup({ agent, durability })
    await env.runner().query('hi', session)
    expect(await env.lines()).toEqual(['user hi', ...['a1', 'a2', 'b1', 'b2', 'c1', 'c2'].map((t) => `assistant ${t}`)])
    expect(await statesOf(env)).toEqual([
      {},
      { last: 'a1', a: 1 },
      { last: 'a2', a: 2 },
      { last: 'b1', a: 2, b: 1, end: 'a' },
      { last: 'b2', a: 2, b: 2, end: 'a' },
      { last: 'c1', a: 2, b: 2, c: 1, end: 'b' },
      { last: 'c2', a: 2, b: 2, c: 2, end: 'c' },
    ])
    expect((await env.store.threads.get(ANN))?.state).toEqual({ last: 'c2', a: 2, b: 2, c: 2, end: 'c' })
  })

  test('has what a nested run has changed', async () => {
    const inner: Agent = {
      name: 'inner',
      description: 'inner',
      async *run(_, ctx) {
        ctx.state.set('inner', 1)
        yield* say(ctx, 'done')
        ctx.state.set('inner', 2)
      },
    }
    const nested = {
      ...TOOLS,
      nest: async (ctx: RunContext) => (await runNested(inner, { messages: [user('go')] }, ctx)).text,
    }
    const env = setup({ agent: obedient('Desk', nested), durability })
    await env.runner().query('call nest:n', session)
    expect((await statesOf(env)).map(({ inner }) => inner)).toEqual([undefined, undefined, 2, 2])
  })
})

describe('a branch that ends with calls', () => {
  test('gives them a neutral result when it runs next, and waits for nothing', async () => {
    const env = await asking('call add:a open:b')
    const branch = await env.desk.fork(ANN, { at: await idAt(env, -1) })
    expect(await env.lines(branch)).toEqual(['user call add:a open:b', 'assistant -> add:a open:b', 'tool a: added a'])
    expect(await env.store.threads.get(branch)).toMatchObject({ openCalls: [] })
    expect(await settled(env.desk.run({ messages: [resultOf('b')] }, { session: branch }))).toBe('TOOL_CALL_UNKNOWN')
    expect(await settled(env.desk.query('and now?', { session: branch }))).toBe('heard call add:a open:b | and now?')
    expect((await env.lines(branch)).slice(3)).toEqual([
      `tool b: ${UNKNOWN_RESULT}`,
      'user and now?',
      'assistant heard call add:a open:b | and now?',
    ])
    expect(unsound(await env.messages(branch))).toEqual([])
    expect(await settled(env.desk.run({ messages: [resultOf('b')] }, session))).toBe('got added a, result b')
  })

  test('goes on without a message too', async () => {
    const env = await asking('call add:a open:b')
    const branch = await env.desk.fork(ANN, { at: await idAt(env, 1) })
    const text = await settled(env.desk.run({ messages: [] }, { session: branch }))
    expect(text).toBe(`got ${UNKNOWN_RESULT}, ${UNKNOWN_RESULT}`)
    expect(unsound(await env.messages(branch))).toEqual([])
  })

  test('has none of the questions of its thread, which can still be answered there', async () => {
    const env = await asking('call ask:b')
    const branch = await env.desk.fork(ANN, { at: await idAt(env, 1) })
    const checkpoint = (await env.store.threads.get(ANN))?.checkpoint
    const [question] = checkpoint?.interrupts ?? []
    const answers = { [question?.id ?? '']: 'yes' }
    expect(await settled(env.desk.resume(answers, { session: branch }))).toBe('INTERRUPT_UNKNOWN')
    expect(await settled(env.desk.query('never mind', { session: branch }))).toBe('heard call ask:b | never mind')
    expect(unsound(await env.messages(branch))).toEqual([])
    expect(await settled(env.desk.resume(answers, session))).toBe('got "yes"')
  })
})
