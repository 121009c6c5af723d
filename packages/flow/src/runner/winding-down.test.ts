import type { CancelMode } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, idle, readTo, session, settled, stage } from './runner.fixture.ts'

test('the idle limit holds at a question too', async () => {
  const world = stage({ limits: { idleMs: 5_000 } })
  await readTo(world.runner().query('call ask:a', session), 'action')
  await world.pass(15_000)
  expect((await world.store.threads.get(ANN))?.runId).toBeUndefined()
  expect(world.clock.pending).toBe(0)
})

test('a run whose time is over keeps its lease until it is stored', async () => {
  const world = stage({ limits: { runMs: 2_000, leaseMs: 3_000 } })
  const { commit } = world.store.threads
  const stored = Promise.withResolvers<void>()
  world.store.threads.commit = async (...args) => {
    await stored.promise
    return commit(...args)
  }
  const run = settled(
    world
      .runner({ agent: obedient('Desk', { ...TOOLS, add: () => new Promise(() => {}) }) })
      .query('call add:a', session),
  )
  await world.pass(8_000)
  expect(await settled(world.runner().query('mine', session))).toBe('THREAD_BUSY')
  stored.resolve()
  await idle()
  expect(await run).toBe('TIMEOUT')
  expect((await world.lines())[0]).toBe('user call add:a')
})

test('a cancel that comes when the agents are done says that it stops nothing', async () => {
  const world = stage()
  const desk = world.runner()
  const { commit } = world.store.threads
  let cancelled: boolean | undefined
  let asked: { readonly mode?: CancelMode } | undefined
  world.store.leases.requestCancel = async (_, request) => {
    asked = request
    return false
  }
  world.store.threads.commit = async (...args) => {
    cancelled = await desk.cancel(ANN)
    return commit(...args)
  }
  expect(await settled(desk.query('hi', session))).toBe('heard hi')
  expect([cancelled, asked]).toEqual([false, { mode: 'now' }])
})

test('who gives up at the end of the line lets nobody pass those before', async () => {
  const order: string[] = []
  const world = stage({ busy: 'queue' })
  const desk = world.runner()
  const iterator = await readTo(desk.query('first', session), 'message-start')
  const waiting = ['b', 'c', 'd'].map((name) => {
    const stop = new AbortController()
    const run = settled(desk.query(name, { ...session, signal: stop.signal })).then((how) =>
      order.push(`${name}: ${how}`),
    )
    return { stop, run }
  })
  await idle()
  waiting[1]?.stop.abort()
  waiting[2]?.stop.abort()
  await idle()
  const late = settled(desk.query('e', session)).then((how) => order.push(`e: ${how}`))
  await iterator.return?.()
  await world.pass(5_000)
  await Promise.all([...waiting.map(({ run }) => run), late])
  expect(order.filter((line) => line.includes('heard')).map((line) => line[0])).toEqual(['b', 'e'])
})
