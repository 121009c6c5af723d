import { type Agent, KernelError, say } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, session, settled, stage, user } from './runner.fixture.ts'

/** Asks outside of any call, as often as there are questions. */
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
    const desk = stage({ agent: asker('Send?') }).runner()
    const first = await desk.query('1 euro', session)
    const [id = ''] = (first.interrupts ?? []).map((interrupt) => interrupt.id)
    expect(await settled(desk.resume({ [id]: 'approved' }, session))).toBe('1: approved')
    const second = await desk.query('1000000 euro', session)
    expect(second.interrupts?.map((interrupt) => interrupt.id)).not.toContain(id)
    expect(await settled(desk.resume({ [id]: 'approved' }, session))).toBe('INTERRUPT_UNKNOWN')
  })

  test('keeps its id while it is open, and two come to an end one after the other', async () => {
    const desk = stage({ agent: asker('One?', 'Two?') }).runner()
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
  /** Pays, and is cut off before it is stored. */
  async function cutOff() {
    const paid: string[] = []
    const pay = async (ctx: Parameters<Exclude<(typeof TOOLS)[string], 'open'>>[0], callId: string) => {
      await ctx.interrupt({ reason: 'approval' })
      return String(paid.push(callId))
    }
    const world = stage({ agent: obedient('Desk', { ...TOOLS, pay }) })
    await world.runner().query('call pay:a', session)
    const { commit } = world.store.threads
    let commits = 0
    world.store.threads.commit = (...args) => (++commits === 2 ? new Promise(() => {}) : commit(...args))
    const lost = settled(world.runner().resume({ 'a#1': true }, session))
    await world.pass(1_000)
    world.store.leases.renew = () => Promise.reject(new KernelError('LEASE_LOST', 'gone'))
    await world.pass(60_000)
    await lost
    return { ...world, paid }
  }

  test('has its effects once: the answers are not taken again', async () => {
    const world = await cutOff()
    expect(world.paid).toEqual(['a'])
    expect(await settled(world.runner().resume({ 'a#1': true }, session))).toBe('INTERRUPT_UNKNOWN')
    expect(world.paid).toEqual(['a'])
  })

  test('leaves a thread that the next message can use, with the outcome of its call unknown', async () => {
    const world = await cutOff()
    expect(await settled(world.runner().query('next', session))).toBe('heard call pay:a | next')
    expect(await world.lines()).toContain('tool a: The outcome of this call is not known.')
  })
})

test('a commit that may succeed later is tried again', async () => {
  const world = stage()
  const { commit } = world.store.threads
  let attempts = 0
  world.store.threads.commit = async (...args) => {
    if (++attempts < 3) throw new KernelError('STORE_BUSY', 'test: busy', { retryable: true })
    return commit(...args)
  }
  const run = settled(world.runner().query('hi', session))
  await world.pass(2_000, 100)
  expect([await run, await world.lines()]).toEqual(['heard hi', ['user hi', 'assistant heard hi']])
  expect(world.clock.pending).toBe(0)
})

test('a message that is in the thread already is refused, and nothing is stored', async () => {
  const world = stage()
  await world.runner().run({ messages: [user('one', 'u1')] }, session)
  const before = await world.lines()
  expect(await settled(world.runner().run({ messages: [user('two', 'u1')] }, session))).toBe('VALIDATION_FAILED')
  expect(await world.lines()).toEqual(before)
})

test('what is refused makes no thread', async () => {
  const world = stage()
  const result = { id: 'r', role: 'tool', callId: 'x', name: 'open', content: '' } as const
  expect(await settled(world.runner().run({ messages: [result] }, session))).toBe('TOOL_CALL_UNKNOWN')
  expect(await world.store.threads.get(ANN)).toBeUndefined()
})

test('a single run may drop what is pending', async () => {
  const world = stage()
  await world.runner().query('call ask:a', session)
  expect(await settled(world.runner().query('next', { ...session, pending: 'drop' }))).toBe('heard call ask:a | next')
})

test.each([[{ messages: [user('hi')], state: { set: { constructor: 1 } } }, 'VALIDATION_FAILED']])(
  'bad input %j is refused without a session too',
  (input, code) => {
    expect(() =>
      stage()
        .runner()
        .run(input as never),
    ).toThrow(expect.objectContaining({ code }))
  },
)
