import { EventType } from '@ag-ui/core'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { calm, stuck } from '../agent/agent.fixture.ts'
import { smallRunner } from '../agent/small-runner.fixture.ts'
import type { AgUiHandlerOptions } from './ag-ui-handler.ts'
import { agUiHandler } from './ag-ui-handler.ts'
import { aborted, framesOf, get, input, post, served, words } from './http.fixture.ts'

/** A server whose runs never end by themselves. */
function busy(options: Partial<AgUiHandlerOptions> = {}) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const handler = agUiHandler({
    runner: smallRunner(stuck, store, clock),
    store,
    clock,
    report: () => {},
    authenticate: ({ headers }) => ({ user: headers.get('authorization') ?? '' }),
    ...options,
  })
  let runs = 0
  /** Starts a run and leaves at once, as a closed tab does; gives the answer. */
  const abandon = async (user: string) => {
    const id = `${user}-${++runs}`
    const response = await handler(post(input(id, id), { authorization: user }))
    if (response.status === 200) await response.body?.cancel()
    return response
  }
  /** Lets time pass, and what happens in it. */
  const pass = async (ms: number) => {
    await calm()
    clock.advance(ms)
    await calm()
  }
  const stop = async () => {
    const stopped = handler.stop(0)
    for (let i = 0; i < 5; i++) await pass(5_000)
    await stopped
  }
  return { handler, abandon, pass, stop }
}

describe('the runs of one user', () => {
  it('leave room for others: ten that were abandoned do not cost another user a 503', async () => {
    const { abandon, stop } = busy({ maxConcurrentExecutions: 10 })
    const statuses: number[] = []
    for (let i = 0; i < 10; i++) statuses.push((await abandon('ann')).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429, 429])
    expect((await abandon('bob')).status).toBe(200)
    await stop()
  })

  it('that are too many are refused with USER_LIMIT and a time to try again', async () => {
    const { abandon, stop } = busy({ maxExecutionsPerUser: 1 })
    await abandon('ann')
    const refused = await abandon('ann')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.json()).toMatchObject({
      code: 'USER_LIMIT',
      message: expect.stringContaining('too many runs'),
    })
    await stop()
  })

  it('may be all runs of a server with one owner', async () => {
    const { abandon, stop } = busy({
      authenticate: undefined as never,
      owner: { app: 'demo', user: 'ann' },
      maxConcurrentExecutions: 10,
    })
    const statuses: number[] = []
    for (let i = 0; i < 11; i++) statuses.push((await abandon('ann')).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.at(-1)).toBe(503)
    await stop()
  })
})

describe('a run that nobody follows', () => {
  it('is stopped after detachedMs, which makes room for the next one', async () => {
    const { handler, abandon, pass, stop } = busy({ maxExecutionsPerUser: 1, limits: { detachedMs: 60_000 } })
    await abandon('ann')
    await pass(59_999)
    expect((await abandon('ann')).status).toBe(429)
    await pass(1)
    await pass(2_000)
    const frames = await framesOf(await handler(get('/threads/ann-1/runs/ann-1')))
    expect(frames.at(-1)?.event).toMatchObject({ type: EventType.RUN_ERROR, code: 'EXECUTION_TIMEOUT' })
    expect((await abandon('ann')).status).toBe(200)
    await stop()
  })

  it('goes on when somebody follows it again in time', async () => {
    const limits = { detachedMs: 60_000, drainMs: 500_000 }
    const { handler, abandon, pass, stop } = busy({ maxExecutionsPerUser: 1, limits })
    await abandon('ann')
    await pass(59_000)
    const again = await handler(get('/threads/ann-1/runs/ann-1'))
    await pass(120_000)
    expect((await abandon('ann')).status).toBe(429)
    await again.body?.cancel()
    await pass(60_000)
    await pass(2_000)
    expect((await abandon('ann')).status).toBe(200)
    await stop()
  })
})

describe('the streams of one user', () => {
  it('are limited, and end with their reader', async () => {
    const { handler, agent } = served(
      async function* (_, { signal }) {
        yield* words(1)
        await aborted(signal)
      },
      { limits: { streamsPerUser: 2 } },
    )
    const first = await handler(post(input()))
    const second = await handler(get('/threads/t1/runs/r1'))
    const third = await handler(get('/threads/t1/runs/r1'))
    expect([first.status, second.status, third.status]).toEqual([200, 200, 429])
    expect(await third.json()).toMatchObject({ code: 'USER_LIMIT' })
    expect((await handler(post(input('r3', 't3')))).status).toBe(429)
    expect(agent.started).toEqual(['r1'])
    expect((await handler(post(input('r2', 't2'), { authorization: 'bob' }))).status).toBe(200)
    await second.body?.cancel()
    expect((await handler(get('/threads/t1/runs/r1'))).status).toBe(200)
    await handler.stop(0)
  })
})
