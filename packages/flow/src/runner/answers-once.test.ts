import { type Agent, KernelError, say } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, session, settled, setup, user } from './runner.fixture.ts'

/** An agent that asks these questions outside of any call. */
const asker = (...questions: readonly string[]): Agent => ({
  name: 'Desk',
  description: '',
  async *run({ messages }, ctx) {
    const answers: string[] = []
    for (const message of questions) answers.push(await ctx.interrupt<string>({ reason: 'input', message }))
    yield* say(ctx, `${messages.filter(({ role }) => role === 'user').length}: ${answers.join(', ')}`)
  },
})

describe('a question outside of a call', () => {
  test('is not answered by a late answer to the question of an earlier turn', async () => {
    const desk = setup({ agent: asker('Send?') }).runner()
    const first = await desk.query('1 euro', session)
    const [id = ''] = (first.interrupts ?? []).map((interrupt) => interrupt.id)
    expect(await settled(desk.resume({ [id]: 'approved' }, session))).toBe('1: approved')
    const second = await desk.query('1000000 euro', session)
    expect(second.interrupts?.map((interrupt) => interrupt.id)).not.toContain(id)
    expect(await settled(desk.resume({ [id]: 'approved' }, session))).toBe('INTERRUPT_UNKNOWN')
  })

  test('keeps its id while it is open, and two come to an end one after the other', async () => {
    const desk = setup({ agent: asker('One?', 'Two?') }).runner()
    const asked: string[] = []
    let result = await desk.query('go', session)
    while (result.outcome === 'interrupted' && asked.length < 5) {
      const [{ id, message } = { id: '', message: '' }] = result.interrupts ?? []
      asked.push(message ?? '')
      result = await desk.resume({ [id]: `to ${message}` }, session)
    }
    expect([asked, result.text]).toEqual([['One?', 'Two?'], '1: to One?, to Two?'])
  })
})

describe('a run that took answers and did not end', () => {
  /** Pays, and is interrupted before the payment is stored. */
  async function cutOff(durability: 'step' | 'turn' = 'step') {
    const paid: string[] = []
    const pay = async (ctx: Parameters<Exclude<(typeof TOOLS)[string], 'open'>>[0], callId: string) => {
      await ctx.interrupt({ reason: 'approval' })
      return String(paid.push(callId))
    }
    const env = setup({ agent: obedient('Desk', { ...TOOLS, pay }), durability })
    await env.runner().query('call pay:a', session)
    const { commit } = env.store.threads
    let commits = 0
    env.store.threads.commit = (...args) => (++commits === 2 ? new Promise(() => {}) : commit(...args))
    const answers = await env.answers({ a: true })
    const lost = settled(env.runner().resume(answers, session))
    await env.pass(1_000)
    env.store.leases.renew = () => Promise.reject(new KernelError('LEASE_LOST', 'gone'))
    await env.pass(60_000)
    await lost
    return { ...env, paid, given: answers }
  }

  test('leaves a thread that the next message can use, with the outcome of its call unknown, where turns are stored whole', async () => {
    const env = await cutOff('turn')
    expect(await settled(env.runner().query('next', session))).toBe('heard call pay:a | next')
    expect(await env.lines()).toContain('tool a: The outcome of this call is not known.')
  })

  test('has its effects once: the answers are not taken again', async () => {
    const env = await cutOff()
    expect(env.paid).toEqual(['a'])
    expect(await settled(env.runner().resume(env.given, session))).toBe('INTERRUPT_UNKNOWN')
    expect(env.paid).toEqual(['a'])
  })

  test('leaves a thread that the next message can use, with the result of its call', async () => {
    const env = await cutOff()
    expect(await settled(env.runner().query('next', session))).toBe('heard call pay:a | next')
    expect(await env.lines()).toContain('tool a: 1')
  })
})

test('a commit that may succeed later is tried again', async () => {
  const env = setup()
  const { commit } = env.store.threads
  let attempts = 0
  env.store.threads.commit = async (...args) => {
    if (++attempts < 3) throw new KernelError('STORE_BUSY', 'test: busy', { retryable: true })
    return commit(...args)
  }
  const run = settled(env.runner().query('hi', session))
  await env.pass(2_000, 100)
  expect([await run, await env.lines()]).toEqual(['heard hi', ['user hi', 'assistant heard hi']])
  expect(env.clock.pending).toBe(0)
})

test('a message that is in the thread already is refused, and nothing is stored', async () => {
  const env = setup()
  await env.runner().run({ messages: [user('one', 'u1')] }, session)
  const before = await env.lines()
  expect(await settled(env.runner().run({ messages: [user('two', 'u1')] }, session))).toBe('VALIDATION_FAILED')
  expect(await env.lines()).toEqual(before)
})

test('what is refused makes no thread', async () => {
  const env = setup()
  const result = { id: 'r', role: 'tool', callId: 'x', name: 'open', content: '' } as const
  expect(await settled(env.runner().run({ messages: [result] }, session))).toBe('TOOL_CALL_UNKNOWN')
  expect(await env.store.threads.get(ANN)).toBeUndefined()
})

test('a single run may drop what is pending', async () => {
  const env = setup()
  await env.runner().query('call ask:a', session)
  expect(await settled(env.runner().query('next', { ...session, pending: 'drop' }))).toBe('heard call ask:a | next')
})

test.each([[{ messages: [user('hi')], state: { set: { constructor: 1 } } }, 'VALIDATION_FAILED']])(
  'bad input %j is refused without a session too',
  (input, code) => {
    expect(() =>
      setup()
        .runner()
        .run(input as never),
    ).toThrow(expect.objectContaining({ code }))
  },
)
