import type { Checkpoint, Json } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { type FlowRunner, setSubAgents } from '../index.ts'
import { obedient } from './obedient.fixture.ts'
import { ANN, asking, checkpointOf, type Stage, session, settled, stage, tamper, unsound } from './runner.fixture.ts'

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
  const refused = async (world: Stage & { desk: FlowRunner }, run: () => ReturnType<FlowRunner['resume']>) => {
    const before = await world.snapshot()
    const heard = world.heard.length
    const error: unknown = await Promise.resolve(run()).catch((error: unknown) => error)
    await expect(run()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ message: (error as Error).message })
    expect(await world.snapshot()).toEqual(before)
    expect(world.heard).toHaveLength(heard)
    expect(world.clock.pending).toBe(0)
    expect((await world.store.threads.get(ANN))?.runId).toBeUndefined()
    return error
  }

  const answers: [string, { [id: string]: Json }, string][] = [
    ['no answer at all', {}, 'VALIDATION_FAILED'],
    ['an unknown id', { 'z#1': true }, 'INTERRUPT_UNKNOWN'],
    ['an unknown id beside a known one', { 'a#1': { approved: true }, 'z#1': true }, 'INTERRUPT_UNKNOWN'],
    ['the name of an object internal', { constructor: true }, 'INTERRUPT_UNKNOWN'],
    ['an answer of the wrong type', { 'a#1': 'yes' }, 'VALIDATION_FAILED'],
    ['an answer without what is required', { 'a#1': {} }, 'VALIDATION_FAILED'],
    ['an answer that is no JSON', { 'a#1': { approved: true, when: new Date(0) as never } }, 'VALIDATION_FAILED'],
    ['an answer of undefined', { 'a#1': undefined as never }, 'VALIDATION_FAILED'],
  ]
  test.each(answers)('%s', async (_, answer, code) => {
    const world = await asking('call ask:a', picky)
    expect(await refused(world, () => world.desk.resume(answer, session))).toMatchObject({ code })
    expect(await settled(world.desk.resume({ 'a#1': { approved: true } }, session))).toBe('got {"approved":true}')
  })

  test('an unknown id names those that are open', async () => {
    const world = await asking()
    const error = await refused(world, () => world.desk.resume({ 'z#1': 1 }, session))
    expect(error).toMatchObject({ details: { open: ['b#1', 'c#1'] } })
  })

  test('an answer that comes too late', async () => {
    const world = await asking('call soon:a', picky)
    world.clock.advance(1_000)
    const error = await refused(world, () => world.desk.resume({ 'a#1': 'yes' }, session))
    expect(error).toMatchObject({ code: 'INTERRUPT_EXPIRED' })
  })

  test('an answer of another owner, who learns nothing', async () => {
    const world = await asking()
    const foreign = { ...ANN, user: 'bob' }
    const error = await refused(world, () => world.desk.resume({ 'b#1': 1 }, { session: foreign }))
    expect(error).toMatchObject({ code: 'INTERRUPT_UNKNOWN', details: { open: [] } })
  })

  test('an answer to a thread that is not there, and it is not made', async () => {
    const world = stage()
    expect(await settled(world.runner().resume({ 'a#1': 1 }, session))).toBe('INTERRUPT_UNKNOWN')
    expect(await world.store.threads.list(ANN)).toEqual([])
  })

  const broken: [string, (checkpoint: Checkpoint) => unknown][] = [
    ['of another format', (checkpoint) => ({ ...checkpoint, format: 99 })],
    ['of another agent', (checkpoint) => ({ ...checkpoint, agentName: 'Other' })],
    ['without questions', ({ interrupts: _, ...rest }) => rest],
    ['with questions that are none', (checkpoint) => ({ ...checkpoint, interrupts: [null] })],
    ['with text for questions', (checkpoint) => ({ ...checkpoint, interrupts: 'a#1' })],
    ['without a place', (checkpoint) => ({ ...checkpoint, state: null })],
    ['with a place that is none', (checkpoint) => ({ ...checkpoint, state: { format: 1 } })],
    ['that is text', () => 'broken'],
  ]
  test.each(broken)('a checkpoint %s', async (_, change) => {
    const world = await asking('call ask:a')
    await tamper(world, change)
    expect(await refused(world, () => world.desk.resume({ 'a#1': 1 }, session))).toMatchObject({
      code: 'CHECKPOINT_INVALID',
    })
  })

  test.each(broken)('but a message with pending drop goes on after a checkpoint %s', async (_, change) => {
    const world = await asking('call ask:a')
    await tamper(world, change)
    expect(await settled(world.runner({ pending: 'drop' }).query('next', session))).toBe('heard call ask:a | next')
    expect(await checkpointOf(world)).toBeUndefined()
    expect(unsound(await world.messages())).toEqual([])
  })

  test('a checkpoint of a tree that has changed', async () => {
    const tree = (name: string) => setSubAgents(obedient('Desk'), [obedient(name)])
    const world = await asking('to:Leaf call ask:a', tree('Leaf'))
    const changed = world.runner({ agent: tree('Flower') })
    expect(await refused(world, () => changed.resume({ 'a#1': 1 }, session))).toMatchObject({
      code: 'CHECKPOINT_INVALID',
    })
    expect(await settled(world.desk.resume({ 'a#1': 1 }, session))).toBe('got 1')
  })
})
