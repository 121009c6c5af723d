import type { Answers, Checkpoint } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { type FlowRunner, setSubAgents } from '../index.ts'
import { obedient } from './obedient.fixture.ts'
import { ANN, asking, checkpointOf, type Setup, session, settled, setup, tamper, unsound } from './runner.fixture.ts'

describe('what does not fit is refused, and nothing is changed', () => {
  const responseSchema = {
    type: 'object',
    properties: { approved: { type: 'boolean' } },
    required: ['approved'],
  } as const
  const picky = obedient('Desk', {
    ask: async (ctx) => JSON.stringify(await ctx.interrupt({ reason: 'approval', responseSchema })),
    soon: async (ctx) => String(await ctx.interrupt({ reason: 'input', expiresAt: ctx.clock.now() + 1_000 })),
  })
  const refused = async (env: Setup & { desk: FlowRunner }, run: () => ReturnType<FlowRunner['resume']>) => {
    const before = await env.snapshot()
    const heard = env.heard.length
    const error: unknown = await Promise.resolve(run()).catch((error: unknown) => error)
    await expect(run()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ message: (error as Error).message })
    expect(await env.snapshot()).toEqual(before)
    expect(env.heard).toHaveLength(heard)
    expect(env.clock.pending).toBe(0)
    expect((await env.store.threads.get(ANN))?.runId).toBeUndefined()
    return error
  }

  const answers: [string, (id: string) => Answers, string][] = [
    ['no answer at all', () => ({}), 'VALIDATION_FAILED'],
    ['an unknown id', () => ({ 'z#x': true }), 'INTERRUPT_UNKNOWN'],
    ['the id of the call alone', () => ({ a: { approved: true } }), 'INTERRUPT_UNKNOWN'],
    ['an unknown id beside a known one', (id) => ({ [id]: { approved: true }, 'z#x': true }), 'INTERRUPT_UNKNOWN'],
    ['the name of an object internal', () => ({ constructor: true }), 'INTERRUPT_UNKNOWN'],
    ['an answer of the wrong type', (id) => ({ [id]: 'yes' }), 'VALIDATION_FAILED'],
    ['an answer without what is required', (id) => ({ [id]: {} }), 'VALIDATION_FAILED'],
    [
      'an answer that is not JSON',
      (id) => ({ [id]: { approved: true, when: new Date(0) as never } }),
      'VALIDATION_FAILED',
    ],
    ['an answer of undefined', (id) => ({ [id]: undefined as never }), 'VALIDATION_FAILED'],
  ]
  test.each(answers)('%s', async (_, answer, code) => {
    const env = await asking('call ask:a', picky)
    const [{ id } = { id: '' }] = (await checkpointOf(env))?.interrupts ?? []
    expect(await refused(env, () => env.desk.resume(answer(id), session))).toMatchObject({ code })
    expect(await settled(env.desk.resume(await env.answers({ a: { approved: true } }), session))).toBe(
      'got {"approved":true}',
    )
  })

  test('an unknown id names those that are open', async () => {
    const env = await asking()
    const open = (await checkpointOf(env))?.interrupts.map(({ id }) => id)
    const error = await refused(env, () => env.desk.resume({ 'z#x': 1 }, session))
    expect(open).toHaveLength(2)
    expect(error).toMatchObject({ details: { open } })
  })

  test('an answer that comes too late', async () => {
    const env = await asking('call soon:a', picky)
    env.clock.advance(1_000)
    const late = await env.answers({ a: 'yes' })
    const error = await refused(env, () => env.desk.resume(late, session))
    expect(error).toMatchObject({ code: 'INTERRUPT_EXPIRED' })
  })

  test('a question that is closed needs no answer, and no time: it gets null', async () => {
    const env = await asking('call soon:a', picky)
    env.clock.advance(1_000)
    const [id = ''] = Object.keys(await env.answers({ a: null }))
    const unknown = await refused(env, () => env.desk.resume({}, { ...session, closed: ['z#x'] }))
    expect(unknown).toMatchObject({ code: 'INTERRUPT_UNKNOWN' })
    expect(await settled(env.desk.resume({}, { ...session, closed: [id] }))).toBe('got null')
  })

  test('an answer of another owner, who learns nothing', async () => {
    const env = await asking()
    const foreign = { ...ANN, user: 'bob' }
    const stolen = await env.answers({ b: 1 })
    const error = await refused(env, () => env.desk.resume(stolen, { session: foreign }))
    expect(error).toMatchObject({ code: 'INTERRUPT_UNKNOWN', details: { open: [] } })
  })

  test('an answer to a thread that is not there, and it is not made', async () => {
    const env = setup()
    expect(await settled(env.runner().resume({ 'a#x': 1 }, session))).toBe('INTERRUPT_UNKNOWN')
    expect(await env.store.threads.list(ANN)).toEqual([])
  })

  const broken: [string, (checkpoint: Checkpoint) => unknown][] = [
    ['of another format', (checkpoint) => ({ ...checkpoint, format: 99 })],
    ['of another agent', (checkpoint) => ({ ...checkpoint, agentName: 'Other' })],
    ['without questions', ({ interrupts: _, ...rest }) => rest],
    ['with questions that are none', (checkpoint) => ({ ...checkpoint, interrupts: [null] })],
    ['with text for questions', (checkpoint) => ({ ...checkpoint, interrupts: 'a#x' })],
    ['without a place', (checkpoint) => ({ ...checkpoint, state: null })],
    ['with an invalid position', (checkpoint) => ({ ...checkpoint, state: { format: 1 } })],
    ['that is text', () => 'broken'],
  ]
  test.each(broken)('a checkpoint %s', async (_, change) => {
    const env = await asking('call ask:a')
    const shown = await env.answers({ a: 1 })
    await tamper(env, change)
    expect(await refused(env, () => env.desk.resume(shown, session))).toMatchObject({
      code: 'CHECKPOINT_INVALID',
    })
  })

  test.each(broken)('but a message with pending drop goes on after a checkpoint %s', async (_, change) => {
    const env = await asking('call ask:a')
    await tamper(env, change)
    expect(await settled(env.runner({ pending: 'drop' }).query('next', session))).toBe('heard call ask:a | next')
    expect(await checkpointOf(env)).toBeUndefined()
    expect(unsound(await env.messages())).toEqual([])
  })

  test('a checkpoint of a tree that has changed', async () => {
    const tree = (name: string) => setSubAgents(obedient('Desk'), [obedient(name)])
    const env = await asking('to:Leaf call ask:a', tree('Leaf'))
    const changed = env.runner({ agent: tree('Flower') })
    const shown = await env.answers({ a: 1 })
    expect(await refused(env, () => changed.resume(shown, session))).toMatchObject({
      code: 'CHECKPOINT_INVALID',
    })
    expect(await settled(env.desk.resume(shown, session))).toBe('got 1')
  })
})
