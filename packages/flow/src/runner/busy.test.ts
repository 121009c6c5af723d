import { getEventListeners } from 'node:events'
import { type AgentEvent, KernelError, type Run } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import type { BusyPolicy, FlowRunner } from '../index.ts'
import { type Gate, gate, obedient } from './obedient.fixture.ts'
import { ANN, idle, type Setup, session, settled, setup } from './runner.fixture.ts'

/** A setup whose thread is taken by run R1 of `holder`, until `gate` opens. */
async function taken(busy: BusyPolicy): Promise<Setup & { holder: FlowRunner; gate: Gate; first: Promise<string> }> {
  const door = gate()
  const env = setup({ agent: obedient('Desk', { wait: door.pass, deaf: door.deaf }), busy })
  const holder = env.runner()
  const first = settled(holder.query('call wait:a', { ...session, runId: 'R1' }))
  await door.entered
  return { ...env, holder, gate: door, first }
}

/** Checks that no timer, lease, report or listener is left when every run has ended. */
async function nothingLeft({ clock, store, reports }: Setup, ...signals: AbortSignal[]): Promise<void> {
  await idle()
  expect(clock.pending).toBe(0)
  for (const signal of signals) expect(getEventListeners(signal, 'abort')).toEqual([])
  expect((await store.threads.get(ANN))?.runId).toBeUndefined()
  expect(reports).toEqual([])
}

const firstEvent = (run: Run): Promise<IteratorResult<AgentEvent>> => run[Symbol.asyncIterator]().next()

describe.each(['the same runner', 'another runner'])('reject, in %s', (where) => {
  const other = (env: Setup & { holder: FlowRunner }) => (where === 'another runner' ? env.runner() : env.holder)

  test('awaiting rejects with THREAD_BUSY and names the holder', async () => {
    const env = await taken('reject')
    const error: unknown = await Promise.resolve(other(env).query('hi', session)).catch((error) => error)
    expect(KernelError.is(error, 'THREAD_BUSY')).toBe(true)
    expect(error).toMatchObject({ retryable: true, details: { runId: 'R1' } })
    env.gate.open()
    expect(await env.first).toBe('got passed')
    await nothingLeft(env)
  })

  test('iterating throws, callbacks are not called, and nothing is changed', async () => {
    const env = await taken('reject')
    const heard = env.heard.length
    const before = await env.snapshot()
    await expect(firstEvent(other(env).query('hi', session))).rejects.toMatchObject({ code: 'THREAD_BUSY' })
    expect(env.heard).toHaveLength(heard)
    expect(await env.snapshot()).toEqual(before)
    env.gate.open()
    await env.first
    expect(await env.lines()).toEqual([
      'user call wait:a',
      'assistant -> wait:a',
      'tool a: passed',
      'assistant got passed',
    ])
    await nothingLeft(env)
  })

  test('resume is refused like a message', async () => {
    const env = await taken('reject')
    expect(await settled(other(env).resume({ 'a#x': true }, session))).toBe('THREAD_BUSY')
    env.gate.open()
    await env.first
    await nothingLeft(env)
  })
})

describe('queue', () => {
  test('runs of one process go on in the order they came', async () => {
    const env = await taken('queue')
    const ended: string[] = []
    const waiting = ['one', 'two', 'three'].map((word) =>
      settled(env.holder.query(word, session)).then(() => ended.push(word)),
    )
    await env.pass(10_000)
    expect(ended).toEqual([])
    env.gate.open()
    await Promise.all(waiting)
    expect(ended).toEqual(['one', 'two', 'three'])
    expect((await env.messages()).filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'call wait:a',
      'one',
      'two',
      'three',
    ])
    await nothingLeft(env)
  })

  test('a run does not wait if no other run is before it', async () => {
    const env = setup({ busy: 'queue' })
    const desk = env.runner()
    expect(await settled(desk.query('one', session))).toBe('heard one')
    expect(await Promise.all(['two', 'three'].map((word) => settled(desk.query(word, session))))).toEqual([
      'heard one | two',
      'heard one | two | three',
    ])
    await nothingLeft(env)
  })

  test('a run waits for that of another runner', async () => {
    const env = await taken('queue')
    const waiting = settled(env.runner().query('next', session))
    await env.pass(5_000)
    env.gate.open()
    await env.first
    await env.pass(2_000)
    expect(await waiting).toBe('heard call wait:a | next')
    await nothingLeft(env)
  })

  test('after queueMs it is THREAD_BUSY, with the holder', async () => {
    const env = await taken('queue')
    const late = env.runner({ limits: { queueMs: 5_000 } }).query('next', session)
    const error = Promise.resolve(late).catch((error: unknown) => error)
    await env.pass(6_000)
    expect(await error).toMatchObject({ code: 'THREAD_BUSY', details: { runId: 'R1' } })
    env.gate.open()
    await env.first
    await nothingLeft(env)
  })

  test('those behind one that gave up do not wait longer than their own time, nor pass those before', async () => {
    const env = await taken('queue')
    const stop = new AbortController()
    const ended: string[] = []
    const run = (word: string, signal?: AbortSignal) =>
      settled(env.holder.query(word, { ...session, ...(signal && { signal }) })).then((how) =>
        ended.push(`${word}: ${how}`),
      )
    const all = [run('one'), run('two', stop.signal), run('three')]
    await idle()
    stop.abort()
    await env.pass(2_000)
    expect(ended).toEqual(['two: ABORTED'])
    env.gate.open()
    await Promise.all(all)
    expect(ended.slice(1)).toEqual(['one: heard call wait:a | one', 'three: heard call wait:a | one | three'])
    await nothingLeft(env, stop.signal)
  })

  test.each(['first in line', 'behind another'])(
    'a run %s whose signal aborts leaves nothing behind',
    async (place) => {
      const env = await taken('queue')
      const { signal, abort } = stoppable()
      const before = place === 'behind another' ? settled(env.holder.query('before', session)) : undefined
      const waiting = settled(env.holder.query('next', { ...session, signal }))
      await idle()
      abort()
      await idle()
      expect(getEventListeners(signal, 'abort')).toEqual([])
      expect(await waiting).toBe('ABORTED')
      env.gate.open()
      await env.first
      await before
      expect(await env.lines()).not.toContain('user next')
      await nothingLeft(env, signal)
    },
  )

  test('a run whose signal aborts while it waits is ABORTED', async () => {
    const env = await taken('queue')
    const { signal, abort } = stoppable()
    const waiting = settled(env.holder.query('next', { ...session, signal }))
    await idle()
    abort()
    expect(await waiting).toBe('ABORTED')
  })

  test('a run whose signal has aborted before it begins does not wait', async () => {
    const env = await taken('queue')
    const before = settled(env.holder.query('before', session))
    const waiting = settled(env.holder.query('next', { ...session, signal: AbortSignal.abort() }))
    await env.pass(2_000)
    // The watch and the time limit of the holder, the watch, the time limit and the pause of the run before: nothing of the one that gave up.
    expect(env.clock.pending).toBe(5)
    expect(await waiting).toBe('ABORTED')
    env.gate.open()
    await before
    await nothingLeft(env)
  })

  test('a run whose consumer leaves while it waits leaves nothing behind', async () => {
    const env = await taken('queue')
    const iterator = env.holder.query('next', session)[Symbol.asyncIterator]()
    const event = iterator.next()
    await idle()
    await iterator.return?.()
    expect(await event).toMatchObject({ done: true })
    env.gate.open()
    await env.first
    expect(await env.lines()).not.toContain('user next')
    await nothingLeft(env)
  })
})

test('of two answers to one question that wait for each other, the first counts', async () => {
  const env = setup({ busy: 'queue' })
  const desk = env.runner()
  await desk.query('call ask:a', session)
  const both = [await env.answers({ a: 'first' }), await env.answers({ a: 'second' })]
  expect(await Promise.all(both.map((answers) => settled(desk.resume(answers, session))))).toEqual([
    'got "first"',
    'INTERRUPT_UNKNOWN',
  ])
  await nothingLeft(env)
})

describe('interrupt', () => {
  test.each(['the same runner', 'another runner'])('stops the run of %s and goes on after it', async (where) => {
    const env = await taken('interrupt')
    const other = where === 'another runner' ? env.runner() : env.holder
    const second = settled(other.query('next', session))
    await env.pass(5_000)
    expect(await env.first).toBe('ABORTED')
    expect(await second).toBe('heard call wait:a | next')
    expect(await env.lines()).toEqual([
      'user call wait:a',
      'assistant -> wait:a',
      'tool a: The outcome of this call is not known.',
      'user next',
      'assistant heard call wait:a | next',
    ])
    await nothingLeft(env)
  })

  test('a run that ignores the abort is given up after its grace period', async () => {
    const env = setup({ busy: 'interrupt' })
    const door = gate()
    const desk = env.runner({ agent: obedient('Desk', { deaf: door.deaf }) })
    const first = settled(desk.query('call deaf:a', session))
    await door.entered
    const second = settled(desk.query('next', session))
    await env.pass(5_000)
    expect([await first, await second]).toEqual(['ABORTED', 'heard call deaf:a | next'])
    door.open()
    await nothingLeft(env)
  })

  test('a thread that is free is taken at once', async () => {
    const env = setup({ busy: 'interrupt' })
    const desk = env.runner()
    expect(await settled(desk.query('one', session))).toBe('heard one')
    expect(await settled(desk.query('two', session))).toBe('heard one | two')
    await nothingLeft(env)
  })

  test('a waiting run whose signal aborts leaves nothing behind', async () => {
    const env = setup({ busy: 'interrupt' })
    const door = gate()
    const desk = env.runner({ agent: obedient('Desk', { deaf: door.deaf }) })
    const first = settled(desk.query('call deaf:a', session))
    await door.entered
    const { signal, abort } = stoppable()
    const second = settled(desk.query('next', { ...session, signal }))
    await idle()
    abort()
    expect(await second).toBe('ABORTED')
    await env.pass(3_000)
    expect(await first).toBe('ABORTED')
    await nothingLeft(env, signal)
  })
})

function stoppable(): { readonly signal: AbortSignal; abort(): void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
