import type { CancelMode } from '@troupe/kernel'
import { expect, test } from 'vitest'
import { obedient, TOOLS } from './obedient.fixture.ts'
import { ANN, idle, readTo, session, settled, setup } from './runner.fixture.ts'

test('the idle limit holds at a question too', async () => {
  const env = setup({ limits: { idleMs: 5_000 } })
  await readTo(env.runner().query('call ask:a', session), 'action')
  await env.pass(15_000)
  expect((await env.store.threads.get(ANN))?.runId).toBeUndefined()
  expect(env.clock.pending).toBe(0)
})

test('a run whose time is over keeps its lease until it is stored', async () => {
  const env = setup({ limits: { runMs: 2_000, leaseMs: 3_000 } })
  const { commit } = env.store.threads
  const stored = Promise.withResolvers<void>()
  let commits = 0
  env.store.threads.commit = async (...args) => {
    if (++commits > 1) await stored.promise
    return commit(...args)
  }
  const run = settled(
    env
      .runner({ agent: obedient('Desk', { ...TOOLS, add: () => new Promise(() => {}) }) })
      .query('call add:a', session),
  )
  await env.pass(8_000)
  expect(await settled(env.runner().query('mine', session))).toBe('THREAD_BUSY')
  stored.resolve()
  await idle()
  expect(await run).toBe('TIMEOUT')
  expect((await env.lines())[0]).toBe('user call add:a')
})

test('a cancel that comes when the agents are done says that it stops nothing', async () => {
  const env = setup()
  const desk = env.runner()
  const { commit } = env.store.threads
  let cancelled: boolean | undefined
  let asked: { readonly mode?: CancelMode } | undefined
  env.store.leases.requestCancel = async (_, request) => {
    asked = request
    return false
  }
  env.store.threads.commit = async (...args) => {
    if (args[1].journal === null) cancelled = await desk.cancel(ANN)
    return commit(...args)
  }
  expect(await settled(desk.query('hi', session))).toBe('heard hi')
  expect([cancelled, asked]).toEqual([false, { mode: 'now' }])
})

test('a run that leaves the end of the queue does not let others overtake', async () => {
  const order: string[] = []
  const env = setup({ busy: 'queue' })
  const desk = env.runner()
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
  await env.pass(5_000)
  await Promise.all([...waiting.map(({ run }) => run), late])
  expect(order.filter((line) => line.includes('heard')).map((line) => line[0])).toEqual(['b', 'e'])
})
