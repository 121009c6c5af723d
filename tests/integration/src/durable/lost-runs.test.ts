import { EventType } from '@ag-ui/core'
import { AgUiAgent, type AgUiEvent } from '@troupe/ag-ui'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { ANN, world } from './killable.fixture.ts'
import { ASKED, calm, desk, get, lost, post, textOf, until } from './lost-run.fixture.ts'
import { checkLog, clientOf, followed, logOf, meanwhile, serve } from './served.fixture.ts'

describe("lostRuns: 'ask'", () => {
  test('a follower is told that the run broke off, and the run goes on when a client asks for it', async () => {
    const { here, looked, handler } = await lost({ lostRuns: 'ask' })
    expect((await followed(handler, here)).at(-1)).toMatchObject({
      type: EventType.RUN_ERROR,
      code: 'RUN_LOST',
      metadata: { retryable: true },
    })
    expect(await (await handler(get('/threads/t'))).json()).toMatchObject({ lostRunId: 'R' })
    expect(await (await handler(get('/threads'))).json()).toMatchObject({ threads: [{ lostRunId: 'R' }] })
    const joined = clientOf(handler)
    await joined.connectAgent()
    expect(joined.messages).toMatchObject([{ content: 'Go' }, { content: 'I look. ' }])
    expect(looked).toEqual(['one'])

    const asked = await handler(post('/threads/t/runs/R/continue'))
    expect([asked.status, await asked.json()]).toEqual([202, { continued: true }])
    expect((await handler(post('/threads/t/runs/R/continue'))).status).toBe(202)
    expect(textOf(await followed(handler, here))).toBe('I look. It is red.')
    expect(looked).toEqual(['one', 'two'])
    expect(await (await handler(get('/threads/t'))).json()).not.toHaveProperty('lostRunId')
    expect((await handler(post('/threads/t/runs/R/continue'))).status).toBe(404)
  })

  test('a follower that waits is told when the lease of the process has expired', async () => {
    const { here, looked, handler } = await lost({ lostRuns: 'ask' }, { expired: false })
    const events = await followed(handler, here)
    expect(events.at(-1)).toMatchObject({ type: EventType.RUN_ERROR, code: 'RUN_LOST' })
    expect(events.slice(0, -1)).toEqual(await logOf(here.store))
    expect([looked, (await here.store.threads.get(ANN))?.unfinished]).toEqual([['one'], 'R'])
  })

  test('a request with nothing new hears that the run broke off', async () => {
    const { handler } = await lost({ lostRuns: 'ask' })
    const body = { threadId: 't', runId: 'again', messages: ASKED, tools: [], context: [], state: {} }
    const refused = await handler(post('/', body))
    expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'RUN_LOST', holder: { runId: 'R' } }])
  })

  test('a run whose process may be alive is not continued', async () => {
    const { handler } = await lost({ lostRuns: 'ask' }, { expired: false })
    const asked = await handler(post('/threads/t/runs/R/continue'))
    expect([asked.status, await asked.json()]).toMatchObject([409, { code: 'THREAD_BUSY', holder: { runId: 'R' } }])
    expect((await handler(post('/threads/t/runs/other/continue'))).status).toBe(404)
    expect((await handler(post('/threads/other/runs/R/continue'))).status).toBe(404)
  })
})

describe("lostRuns: 'leave'", () => {
  test('a follower ends the log with an error, and the run stays as it is', async () => {
    const { here, looked, handler } = await lost({ lostRuns: 'leave' })
    expect((await followed(handler, here)).at(-1)).toMatchObject({ type: EventType.RUN_ERROR, code: 'RUN_LOST' })
    expect(looked).toEqual(['one'])
    expect((await here.store.threads.get(ANN))?.unfinished).toBe('R')
    expect(await (await handler(get('/threads/t'))).json()).not.toHaveProperty('lostRunId')
    expect((await handler(post('/threads/t/runs/R/continue'))).status).toBe(404)
  })

  test('holds for a runner that stores whole turns', async () => {
    const here = world()
    const called = Promise.withResolvers<void>()
    const one = here.start(
      desk(() => {
        called.resolve()
        return new Promise(() => {})
      }),
      { durability: 'turn' },
    )
    const client = clientOf(serve(one, here))
    client.messages = [...ASKED]
    void client.runAgent({ runId: 'R' })
    await called.promise
    await calm()
    one.kill()
    here.expire()
    const handler = serve(here.start(desk(() => 'red')), here)
    expect((await followed(handler, here)).at(-1)).toMatchObject({ type: EventType.RUN_ERROR, code: 'RUN_LOST' })
  })
})

describe('a run whose process is gone', () => {
  test('cannot be cancelled, and its client hears why', async () => {
    const { handler } = await lost({ lostRuns: 'ask' })
    const refused = await handler(post('/threads/t/runs/R/cancel'))
    expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'RUN_LOST' }])
  })

  test('is cancelled when it goes on, if it was cancelled while the lease of its process was alive', async () => {
    const { here, looked, handler } = await lost({ lostRuns: 'ask' }, { expired: false })
    const cancelled = await meanwhile(here, handler(post('/threads/t/runs/R/cancel')))
    expect([cancelled.status, await cancelled.json()]).toEqual([202, { cancelled: true, ended: false }])
    here.expire()
    expect((await handler(post('/threads/t/runs/R/continue'))).status).toBe(202)
    const log = await followed(handler, here)
    checkLog(log)
    expect(log.at(-1)).toMatchObject({ type: EventType.RUN_FINISHED, outcome: { type: 'cancelled' } })
    expect([looked, textOf(log)]).toEqual([['one'], 'I look. '])
    expect((await here.store.threads.get(ANN))?.unfinished).toBeUndefined()
  })

  test('keeps the state of its thread as it is', async () => {
    const { here, two, looked } = await lost()
    const { sessions } = new AgUiAgent({ runner: two.runner, store: here.store, clock: here.clock, userId: 'ann' })
    await expect(sessions.updateSessionState(ANN, { a: 1 })).rejects.toMatchObject({ code: 'THREAD_BUSY' })
    expect(await sessions.deleteSession(ANN)).toBe(true)
    expect(looked).toEqual(['one'])
  })

  test('that was not gone after all writes no more, and does not end the run for its readers', async () => {
    const here = world()
    const calls: PromiseWithResolvers<string>[] = []
    const look = () => {
      const call = Promise.withResolvers<string>()
      calls.push(call)
      return call.promise
    }
    // The clock of a process that hangs stands still: it neither renews its lease nor finds out that it has expired.
    const clock = fakeClock()
    const one = serve(here.start(desk(look), { clock }), { ...here, clock })
    const seen: AgUiEvent[] = []
    const client = clientOf(one, seen)
    client.messages = [...ASKED]
    const ended = client.runAgent({ runId: 'R' })
    await until(() => calls.length === 1)
    here.expire()
    const two = serve(here.start(desk(look)), here)
    const reading = followed(two, here)
    await until(() => calls.length === 2)
    calls[0]?.resolve('blue')
    await calm()
    calls[1]?.resolve('red')
    expect(textOf(await reading)).toBe('I look. It is red.')
    await ended
    const log = await logOf(here.store)
    checkLog(log)
    expect(textOf(log)).toBe('I look. It is red.')
    expect(seen.at(-1)).toMatchObject({ type: EventType.RUN_FINISHED })
    expect(one.reported.map(({ code }) => code)).toContain('LEASE_LOST')
    expect(one.reported.map(({ code }) => code)).not.toContain('RUN_LOG_FAILED')
  })
})
