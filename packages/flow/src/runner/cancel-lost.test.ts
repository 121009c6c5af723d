import { type AgentEvent, type CancelMode, type Json, type RunContext, say } from '@troupe/kernel'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { broken, noting, steps } from './broken-run.fixture.ts'
import { ANN, idle, type Setup, session, settled, setup } from './runner.fixture.ts'

const isLost = async ({ store }: Setup) => (await store.threads.get(ANN))?.unfinished !== undefined

describe('a cancel that comes while a dead process holds the thread', () => {
  test('counts when the run is continued: nothing more is done, and it ends as cancelled', async () => {
    const env = await broken()
    expect(await env.runner().cancel(ANN, { runId: 'R' })).toBe(true)
    env.expire()
    const { done, agent } = noting()
    const desk = env.runner({ agent })
    expect(await settled(desk.continue(ANN))).toBe('ABORTED')
    expect(env.heard.at(-1)).toMatchObject({ type: 'run-end', runId: 'R', outcome: 'cancelled' })
    expect([done, await isLost(env)]).toEqual([[], false])
    expect(await settled(desk.query('next', session))).toBe('2: a1 b2 c3')
    expect(env.clock.pending).toBe(0)
  })

  test('counts for one who waits for the lease, and for the second who continues it', async () => {
    const env = await broken()
    await env.runner().cancel(ANN)
    env.expire()
    const late = env.runner({ clock: fakeClock(), agent: steps(() => new Promise<never>(() => {})) })
    const { token } = await env.store.leases.acquire(ANN, { runId: 'R', ttlMs: 30_000 })
    expect(await settled(late.continue(ANN))).toBe('THREAD_BUSY')
    const waiting = settled(env.runner().continue(ANN, { busy: 'queue' }))
    await env.pass(32_000)
    expect(await waiting).toBe('ABORTED')
    await expect(env.store.threads.commit(ANN, {}, token)).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })

  test('counts although another has held the thread since, or has failed to continue the run', async () => {
    const env = await broken()
    await env.runner().cancel(ANN)
    env.expire()
    const { token } = await env.store.leases.acquire(ANN, { runId: 'session:1', ttlMs: 1_000 })
    await env.store.leases.release(ANN, token)
    const other = { ...steps(async () => ''), name: 'Other' }
    expect(await settled(env.runner({ agent: other }).continue(ANN))).toBe('CHECKPOINT_INVALID')
    expect(await settled(env.runner().continue(ANN))).toBe('ABORTED')
  })

  test('keeps the steps that were done, and shows them', async () => {
    const said = async function* (ctx: RunContext, name: string) {
      yield* say(ctx, await ctx.perform(name, async () => `${name} is done`))
    }
    const agent = (work: () => Promise<Json>) => ({
      ...steps(async () => ''),
      async *run(_: unknown, ctx: RunContext) {
        yield* said(ctx, 'a')
        await ctx.perform('b', work)
      },
    })
    const env = setup({ agent: agent(async () => 'b') })
    const dead = env.runner({ agent: agent(() => new Promise<never>(() => {})), clock: fakeClock() })
    dead.query('hi', { ...session, runId: 'R' }).then(undefined, () => undefined)
    await idle()
    await env.runner().cancel(ANN)
    env.clock.advance(30_001)
    const events: AgentEvent[] = []
    for await (const event of env.runner().continue(ANN, { again: true }).eventsWithoutThrowing()) events.push(event)
    expect(events.filter(({ type }) => type === 'message-end')).toHaveLength(1)
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
    expect(await env.lines()).toEqual(['user hi', 'assistant a is done'])
  })

  test('counts for a run that had nothing left to do but to end', async () => {
    const env = setup({ agent: steps(async (_, name) => name) })
    let agentsDone = false
    const agent = steps(async (_, name) => name)
    const stuck = {
      ...agent,
      async *run(input: never, ctx: RunContext) {
        yield* agent.run(input, ctx)
        agentsDone = true
        await new Promise<never>(() => {})
      },
    }
    const dead = env.runner({ agent: stuck, clock: fakeClock() }).query('hi', { ...session, runId: 'R' })
    dead.then(undefined, () => undefined)
    await idle()
    expect(agentsDone).toBe(true)
    await env.runner().cancel(ANN)
    env.clock.advance(30_001)
    expect(await settled(env.runner().continue(ANN))).toBe('ABORTED')
    expect(env.heard.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
    expect(await env.lines()).toEqual(['user hi', 'assistant 1: a b c'])
  })

  test.each<CancelMode>(['after-model', 'after-tools'])(
    '%s stops the run where it would have stopped',
    async (mode) => {
      const env = await broken()
      await env.runner().cancel(ANN, { mode })
      env.expire()
      const agent = steps(async (ctx, name) => `${name} ${ctx.cancelling}`)
      expect(await settled(env.runner({ agent }).continue(ANN))).toBe(`1: a1 b ${mode} c ${mode}`)
    },
  )

  test('ends with its run: the next run is not cancelled, even under the same id', async () => {
    const env = await broken()
    await env.runner().cancel(ANN)
    env.expire()
    expect(await settled(env.runner().query('next', { ...session, runId: 'S' }))).toBe('2: a1 b1 c1')
    expect(await settled(env.runner().query('more', session))).toBe('3: a1 b1 c1')
  })
})

describe('a run that is stopped while what it did is done again', () => {
  /** Says what each step gave, and stops for ever at the third. */
  const talking = (work: (name: string) => Promise<string>) => ({
    ...steps(async () => ''),
    async *run(_: unknown, ctx: RunContext) {
      for (const name of ['a', 'b', 'c']) yield* say(ctx, await ctx.perform(name, () => work(name)))
    },
  })

  async function lostAt(third: string) {
    const env = setup({ agent: talking(async (name) => `${name} again`) })
    const stuck = talking((name) => (name === third ? new Promise<never>(() => {}) : Promise.resolve(`${name} done`)))
    const dead = env.runner({ agent: stuck, clock: fakeClock() }).query('hi', { ...session, runId: 'R' })
    dead.then(undefined, () => undefined)
    await idle()
    env.clock.advance(30_001)
    return env
  }

  test.each(['run-start', 'agent-start', 'text-delta'])('keeps every step that was done: at %s', async (type) => {
    const env = await lostAt('c')
    const stop = new AbortController()
    const run = env.runner().continue(ANN, { again: true, signal: stop.signal })
    for await (const event of run.eventsWithoutThrowing()) if (event.type === type) stop.abort()
    expect(await env.lines()).toEqual(['user hi', 'assistant a done', 'assistant b done'])
    expect([await isLost(env), env.heard.at(-1)]).toMatchObject([false, { type: 'run-end', outcome: 'cancelled' }])
    expect(env.reports).toEqual([])
  })

  test('keeps them although a soft cancel ends its agents early', async () => {
    const env = await lostAt('c')
    const agent = {
      ...talking(async () => ''),
      async *run(_: unknown, ctx: RunContext) {
        for (const name of ['a', 'b', 'c']) {
          if (ctx.cancelling) return
          yield* say(ctx, await ctx.perform(name, async () => ''))
        }
      },
    }
    const desk = env.runner({ agent })
    for await (const { type } of desk.continue(ANN, { again: true })) {
      if (type === 'message-end') await desk.cancel(ANN, { mode: 'after-model' })
    }
    expect(await env.lines()).toEqual(['user hi', 'assistant a done', 'assistant b done'])
  })

  test('keeps them when its reader leaves at once', async () => {
    const env = await lostAt('c')
    for await (const _ of env.runner().continue(ANN, { again: true })) break
    expect(await env.lines()).toEqual(['user hi', 'assistant a done', 'assistant b done'])
    expect(await isLost(env)).toBe(false)
  })
})
