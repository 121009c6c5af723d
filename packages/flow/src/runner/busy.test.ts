import { getEventListeners } from 'node:events'
import { type AgentEvent, KernelError, type Run } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import type { BusyPolicy, FlowRunner } from '../index.ts'
import { type Gate, gate, obedient } from './obedient.fixture.ts'
import { ANN, idle, type Stage, session, settled, stage } from './runner.fixture.ts'

/** A stage whose thread is taken by run R1 of `holder`, until `gate` opens. */
async function taken(busy: BusyPolicy): Promise<Stage & { holder: FlowRunner; gate: Gate; first: Promise<string> }> {
  const door = gate()
  const world = stage({ agent: obedient('Desk', { wait: door.pass, deaf: door.deaf }), busy })
  const holder = world.runner()
  const first = settled(holder.query('call wait:a', { ...session, runId: 'R1' }))
  await door.entered
  return { ...world, holder, gate: door, first }
}

/** What is left when every run has ended. */
async function nothingLeft({ clock, store, reports }: Stage, ...signals: AbortSignal[]): Promise<void> {
  await idle()
  expect(clock.pending).toBe(0)
  for (const signal of signals) expect(getEventListeners(signal, 'abort')).toEqual([])
  expect((await store.threads.get(ANN))?.runId).toBeUndefined()
  expect(reports).toEqual([])
}

const firstEvent = (run: Run): Promise<IteratorResult<AgentEvent>> => run[Symbol.asyncIterator]().next()

describe.each(['the same runner', 'another runner'])('reject, in %s', (where) => {
  const other = (world: Stage & { holder: FlowRunner }) => (where === 'another runner' ? world.runner() : world.holder)

  test('awaiting rejects with THREAD_BUSY and names the holder', async () => {
    const world = await taken('reject')
    const error: unknown = await Promise.resolve(other(world).query('hi', session)).catch((error) => error)
    expect(KernelError.is(error, 'THREAD_BUSY')).toBe(true)
    expect(error).toMatchObject({ retryable: true, details: { runId: 'R1' } })
    world.gate.open()
    expect(await world.first).toBe('got passed')
    await nothingLeft(world)
  })

  test('iterating throws, callbacks hear nothing, and nothing is changed', async () => {
    const world = await taken('reject')
    const heard = world.heard.length
    const before = await world.snapshot()
    await expect(firstEvent(other(world).query('hi', session))).rejects.toMatchObject({ code: 'THREAD_BUSY' })
    expect(world.heard).toHaveLength(heard)
    expect(await world.snapshot()).toEqual(before)
    world.gate.open()
    await world.first
    expect(await world.lines()).toEqual([
      'user call wait:a',
      'assistant -> wait:a',
      'tool a: passed',
      'assistant got passed',
    ])
    await nothingLeft(world)
  })

  test('resume is refused like a message', async () => {
    const world = await taken('reject')
    expect(await settled(other(world).resume({ 'a#1': true }, session))).toBe('THREAD_BUSY')
    world.gate.open()
    await world.first
    await nothingLeft(world)
  })
})

describe('queue', () => {
  test('runs of one process go on in the order they came', async () => {
    const world = await taken('queue')
    const ended: string[] = []
    const waiting = ['one', 'two', 'three'].map((word) =>
      settled(world.holder.query(word, session)).then(() => ended.push(word)),
    )
    await world.pass(10_000)
    expect(ended).toEqual([])
    world.gate.open()
    await Promise.all(waiting)
    expect(ended).toEqual(['one', 'two', 'three'])
    expect((await world.messages()).filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'call wait:a',
      'one',
      'two',
      'three',
    ])
    await nothingLeft(world)
  })

  test('one that comes with nobody before it does not wait', async () => {
    const world = stage({ busy: 'queue' })
    const desk = world.runner()
    expect(await settled(desk.query('one', session))).toBe('heard one')
    expect(await Promise.all(['two', 'three'].map((word) => settled(desk.query(word, session))))).toEqual([
      'heard one | two',
      'heard one | two | three',
    ])
    await nothingLeft(world)
  })

  test('a run waits for that of another runner', async () => {
    const world = await taken('queue')
    const waiting = settled(world.runner().query('next', session))
    await world.pass(5_000)
    world.gate.open()
    await world.first
    await world.pass(2_000)
    expect(await waiting).toBe('heard call wait:a | next')
    await nothingLeft(world)
  })

  test('after queueMs it is THREAD_BUSY, with the holder', async () => {
    const world = await taken('queue')
    const late = world.runner({ limits: { queueMs: 5_000 } }).query('next', session)
    const error = Promise.resolve(late).catch((error: unknown) => error)
    await world.pass(6_000)
    expect(await error).toMatchObject({ code: 'THREAD_BUSY', details: { runId: 'R1' } })
    world.gate.open()
    await world.first
    await nothingLeft(world)
  })

  test('those behind one that gave up do not wait longer than their own time, nor pass those before', async () => {
    const world = await taken('queue')
    const stop = new AbortController()
    const ended: string[] = []
    const run = (word: string, signal?: AbortSignal) =>
      settled(world.holder.query(word, { ...session, ...(signal && { signal }) })).then((how) =>
        ended.push(`${word}: ${how}`),
      )
    const all = [run('one'), run('two', stop.signal), run('three')]
    await idle()
    stop.abort()
    await world.pass(2_000)
    expect(ended).toEqual(['two: ABORTED'])
    world.gate.open()
    await Promise.all(all)
    expect(ended.slice(1)).toEqual(['one: heard call wait:a | one', 'three: heard call wait:a | one | three'])
    await nothingLeft(world, stop.signal)
  })

  test.each(['first in line', 'behind another'])(
    'a run %s whose signal aborts leaves nothing behind',
    async (place) => {
      const world = await taken('queue')
      const { signal, abort } = stoppable()
      const before = place === 'behind another' ? settled(world.holder.query('before', session)) : undefined
      const waiting = settled(world.holder.query('next', { ...session, signal }))
      await idle()
      abort()
      await idle()
      expect(getEventListeners(signal, 'abort')).toEqual([])
      expect(await waiting).toBe('ABORTED')
      world.gate.open()
      await world.first
      await before
      expect(await world.lines()).not.toContain('user next')
      await nothingLeft(world, signal)
    },
  )

  test('a run whose signal aborts while it waits is ABORTED', async () => {
    const world = await taken('queue')
    const { signal, abort } = stoppable()
    const waiting = settled(world.holder.query('next', { ...session, signal }))
    await idle()
    abort()
    expect(await waiting).toBe('ABORTED')
  })

  test('a run whose signal has aborted before it begins does not wait', async () => {
    const world = await taken('queue')
    const before = settled(world.holder.query('before', session))
    const waiting = settled(world.holder.query('next', { ...session, signal: AbortSignal.abort() }))
    await world.pass(2_000)
    expect(world.clock.pending).toBe(3) // the holder's watch, the watch and the pause of the run before: nothing of the one that gave up
    expect(await waiting).toBe('ABORTED')
    world.gate.open()
    await before
    await nothingLeft(world)
  })

  test('a run whose consumer leaves while it waits leaves nothing behind', async () => {
    const world = await taken('queue')
    const iterator = world.holder.query('next', session)[Symbol.asyncIterator]()
    const event = iterator.next()
    await idle()
    await iterator.return?.()
    expect(await event).toMatchObject({ done: true })
    world.gate.open()
    await world.first
    expect(await world.lines()).not.toContain('user next')
    await nothingLeft(world)
  })
})

test('of two answers to one question that wait for each other, the first counts', async () => {
  const world = stage({ busy: 'queue' })
  const desk = world.runner()
  await desk.query('call ask:a', session)
  const both = ['first', 'second'].map((answer) => settled(desk.resume({ 'a#1': answer }, session)))
  expect(await Promise.all(both)).toEqual(['got "first"', 'INTERRUPT_UNKNOWN'])
  await nothingLeft(world)
})

describe('interrupt', () => {
  test.each(['the same runner', 'another runner'])('stops the run of %s and goes on after it', async (where) => {
    const world = await taken('interrupt')
    const other = where === 'another runner' ? world.runner() : world.holder
    const second = settled(other.query('next', session))
    await world.pass(5_000)
    expect(await world.first).toBe('ABORTED')
    expect(await second).toBe('heard call wait:a | next')
    expect(await world.lines()).toEqual([
      'user call wait:a',
      'assistant -> wait:a',
      'tool a: The outcome of this call is not known.',
      'user next',
      'assistant heard call wait:a | next',
    ])
    await nothingLeft(world)
  })

  test('a run that does not hear is given up after its grace', async () => {
    const world = stage({ busy: 'interrupt' })
    const door = gate()
    const desk = world.runner({ agent: obedient('Desk', { deaf: door.deaf }) })
    const first = settled(desk.query('call deaf:a', session))
    await door.entered
    const second = settled(desk.query('next', session))
    await world.pass(5_000)
    expect([await first, await second]).toEqual(['ABORTED', 'heard call deaf:a | next'])
    door.open()
    await nothingLeft(world)
  })

  test('a run that nobody holds is stopped by nobody', async () => {
    const world = stage({ busy: 'interrupt' })
    const desk = world.runner()
    expect(await settled(desk.query('one', session))).toBe('heard one')
    expect(await settled(desk.query('two', session))).toBe('heard one | two')
    await nothingLeft(world)
  })

  test('a waiting run whose signal aborts leaves nothing behind', async () => {
    const world = stage({ busy: 'interrupt' })
    const door = gate()
    const desk = world.runner({ agent: obedient('Desk', { deaf: door.deaf }) })
    const first = settled(desk.query('call deaf:a', session))
    await door.entered
    const { signal, abort } = stoppable()
    const second = settled(desk.query('next', { ...session, signal }))
    await idle()
    abort()
    expect(await second).toBe('ABORTED')
    await world.pass(3_000)
    expect(await first).toBe('ABORTED')
    await nothingLeft(world, signal)
  })
})

function stoppable(): { readonly signal: AbortSignal; abort(): void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
