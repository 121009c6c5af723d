import { type Agent, type AgentEvent, contextKey, type RunContext, say } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { runner } from '../index.ts'
import { broken, noting, steps } from './broken-run.fixture.ts'
import { ANN, idle, session, settled, setup, user } from './runner.fixture.ts'

describe('continue', () => {
  test('goes on with a run whose process is gone, from the step that was not done', async () => {
    const env = await broken()
    env.expire()
    const { done, agent } = noting()
    const run = env.runner({ agent }).continue(ANN)
    const result = await run
    expect([run.runId, result.text, done]).toEqual(['R', '1: a1 b1 c2', ['b', 'c']])
    expect(await env.lines()).toEqual(['user hi', 'assistant 1: a1 b1 c2'])
    expect((await env.store.threads.get(ANN))?.unfinished).toBeUndefined()
    expect(env.clock.pending).toBe(0)
  })

  test('shows what comes after the steps that were done, or everything again', async () => {
    const types = async (request: object) => {
      const env = await broken()
      env.expire()
      const seen: string[] = []
      for await (const { type } of env.runner().continue(ANN, request)) seen.push(type)
      return seen
    }
    const answer = ['message-start', 'text-delta', 'message-end', 'agent-end', 'run-end']
    expect(await types({})).toEqual(answer)
    expect(await types({ again: true })).toEqual(['run-start', 'agent-start', ...answer])
    expect(await types({ shown: [] })).toEqual(['run-start', 'agent-start', ...answer])
    const start = { runId: 'R', agentName: 'Desk', runPath: [] }
    const shown: AgentEvent[] = [{ type: 'run-start', ...start }]
    expect(await types({ shown })).toEqual(['agent-start', ...answer])
    const usage = { inputTokens: 0, outputTokens: 0 }
    const failed: AgentEvent = { type: 'run-end', ...start, outcome: 'failed', text: '', usage }
    expect(await types({ shown: [...shown, failed] })).toEqual(['agent-start', ...answer])
  })

  test('reads what was shown when it has the thread, because until then the other process may show more', async () => {
    const env = await broken()
    const shown: AgentEvent[] = []
    const events: string[] = []
    const reading = (async () => {
      for await (const { type } of env.runner().continue(ANN, { shown, busy: 'queue' })) events.push(type)
    })()
    await idle()
    shown.push({ type: 'run-start', runId: 'R', agentName: 'Desk', runPath: [] })
    env.expire()
    await reading
    expect(events[0]).toBe('agent-start')
  })

  test('is refused while the run is under way, and where no run broke off', async () => {
    const env = await broken()
    const desk = env.runner()
    expect(await settled(desk.continue(ANN))).toBe('THREAD_BUSY')
    env.expire()
    expect(await settled(desk.continue(ANN, { runId: 'other' }))).toBe('NOT_FOUND')
    expect(await settled(desk.continue({ ...ANN, user: 'bob' }))).toBe('NOT_FOUND')
    await desk.continue(ANN, { runId: 'R' })
    expect(await settled(desk.continue(ANN))).toBe('NOT_FOUND')
    const events: AgentEvent[] = []
    for await (const event of desk.continue(ANN).eventsWithoutThrowing()) events.push(event)
    expect(events).toEqual([])
  })

  test('waits for the lease of the process that is gone, if it is told to', async () => {
    const env = await broken()
    const run = settled(env.runner().continue(ANN, { busy: 'queue' }))
    await env.pass(29_000)
    expect((await env.store.threads.get(ANN))?.unfinished).toBe('R')
    await env.pass(4_000)
    expect(await run).toBe('1: a1 b1 c1')
  })

  test('by two at once: one goes on, the other is refused', async () => {
    const env = await broken()
    env.expire()
    const { done, agent } = noting()
    const ends = [env.runner({ agent }), env.runner({ agent })].map((desk) => settled(desk.continue(ANN)))
    expect((await Promise.all(ends)).sort()).toEqual(['1: a1 b1 c2', 'THREAD_BUSY'])
    expect(done).toEqual(['b', 'c'])
  })

  test('stops when its reader leaves, like any run', async () => {
    const env = await broken()
    env.expire()
    for await (const event of env.runner().continue(ANN)) if (event.type === 'message-start') break
    expect((await env.store.threads.get(ANN))?.unfinished).toBeUndefined()
    expect(env.heard.at(-1)).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
  })

  test('has the state, the options and what was carried; values of the context are restored from it', async () => {
    const LOCALE = contextKey<string>('locale')
    const request = { carry: { locale: 'zh' }, prepare: (ctx: RunContext) => ctx.with(LOCALE, 'zh') }
    const agent: Agent = {
      ...steps(async () => ''),
      async *run({ options }, ctx) {
        const kept = [...ctx.state.keys()].map((key) => `${key}=${JSON.stringify(ctx.state.get(key))}`)
        yield* say(ctx, `${kept.join(' ')} ${options?.maxIterations} ${ctx.get(LOCALE)}`)
      },
    }
    const env = setup({ agent })
    const stuck: Agent = { ...agent, run: (_, ctx) => steps(() => new Promise<never>(() => {})).run(_, ctx) }
    const input = {
      messages: [user('hi')],
      state: { set: { kept: 1, 'temp:run': 2 } },
      options: { maxIterations: 7 },
    }
    env
      .runner({ agent: stuck, clock: fakeClock() })
      .run(input, { ...session, ...request })
      .then(undefined, () => undefined)
    await idle()
    expect((await env.store.threads.get(ANN))?.state).toEqual({ kept: 1 })
    env.clock.advance(30_001)
    const restored: unknown[] = []
    const { text } = await env.runner().continue(ANN, {
      restore: (carried) => {
        restored.push(carried)
        return { prepare: (ctx) => ctx.with(LOCALE, (carried as { locale: string }).locale) }
      },
    })
    expect([text, restored]).toEqual(['kept=1 temp:run=2 7 zh', [{ locale: 'zh' }]])
    expect((await env.store.threads.get(ANN))?.state).toEqual({ kept: 1 })
  })

  test('refuses a journal of another agent, and leaves it as it is', async () => {
    const env = await broken()
    env.expire()
    const other = { ...steps(async () => ''), name: 'Other' }
    expect(await settled(env.runner({ agent: other }).continue(ANN))).toBe('CHECKPOINT_INVALID')
    expect(await settled(env.runner().continue(ANN))).toBe('1: a1 b1 c1')
  })

  test('of a run that took answers goes on with them', async () => {
    const asking: Agent = {
      name: 'Desk',
      description: '',
      recordsSteps: true,
      async *run(_, ctx) {
        const answer = await ctx.interrupt<string>({ reason: 'input' })
        const done = await ctx.perform('work', () => work(answer))
        yield* say(ctx, done)
      },
    }
    let work: (answer: string) => Promise<string> = () => new Promise<never>(() => {})
    const env = setup({ agent: asking })
    const { interrupts } = await env.runner().query('hi', session)
    const answers = { [interrupts?.[0]?.id ?? '']: 'yes' }
    env
      .runner({ clock: fakeClock() })
      .resume(answers, { ...session, runId: 'R2' })
      .then(undefined, () => undefined)
    await idle()
    env.clock.advance(30_001)
    work = async (answer) => `answered ${answer}`
    expect(await settled(env.runner().continue(ANN))).toBe('answered yes')
    expect((await env.store.threads.get(ANN))?.checkpoint).toBeUndefined()
  })
})

describe('lost', () => {
  test('lists the runs whose process is gone', async () => {
    const env = await broken()
    expect(await env.runner().lost()).toEqual([])
    env.expire()
    expect(await env.runner().lost()).toMatchObject([{ ref: ANN, runId: 'R' }])
    expect(await env.runner().lost({ before: 0 })).toEqual([])
    await env.runner().continue(ANN)
    expect(await env.runner().lost()).toEqual([])
  })
})

describe('a message after a run that broke off', () => {
  test('settles it first: what was done is kept, nothing is done, and its message is in the history', async () => {
    const env = await broken()
    env.expire()
    const { done, agent } = noting()
    expect(await settled(env.runner({ agent }).query('next', session))).toBe('2: a1 b2 c3')
    expect(done).toEqual(['a', 'b', 'c'])
    expect(await env.lines()).toEqual(['user hi', 'user next', 'assistant 2: a1 b2 c3'])
    expect((await env.store.threads.get(ANN))?.state).toEqual({})
  })

  test('of the same id says that the run can be continued', async () => {
    const env = await broken()
    env.expire()
    const again = env.runner().query('hi', { ...session, runId: 'R' })
    await expect(Promise.resolve(again)).rejects.toThrow('go on with it by continue()')
    expect(await settled(env.runner().continue(ANN))).toBe('1: a1 b1 c1')
  })

  test('reports a journal that cannot be read, and goes on without it', async () => {
    const env = await broken()
    env.expire()
    const other = { ...steps(async (_, name) => name), name: 'Other' }
    expect(await settled(env.runner({ agent: other }).query('next', session))).toBe('2: a b c')
    expect(env.reports).toMatchObject([{ code: 'CHECKPOINT_INVALID' }])
  })
})

describe('durability', () => {
  test('needs a store with a journal, unless whole turns are stored', async () => {
    const { threads, leases } = memoryStore()
    const agent = steps(async () => '')
    expect(() => runner({ agent, store: { threads, leases } })).toThrow(
      "store must have a journal, or durability must be 'turn'",
    )
    expect((await runner({ agent, store: { threads, leases }, durability: 'turn' }).query('hi', session)).outcome).toBe(
      'complete',
    )
    expect(() => runner({ agent, durability: 'never' as 'turn' })).toThrow('durability must be one of step, turn')
    expect(() => runner({ agent, unknownCalls: 'run' as 'ask' })).toThrow('unknownCalls must be one of tell, ask')
  })

  test('of a run whose agents never ran: its message is kept, its question stays open, nothing is left to continue', async () => {
    const env = setup()
    const prepare = () => {
      throw new Error('no')
    }
    await env.runner().query('call ask:a', session)
    expect(await settled(env.runner().resume(await env.answers({ a: 'yes' }), { ...session, prepare }))).toBe(
      'AGENT_FAILED',
    )
    expect(await env.runner().lost()).toEqual([])
    expect(await settled(env.runner().resume(await env.answers({ a: 'yes' }), session))).toBe('got "yes"')
  })

  test('refuses to carry what is not JSON', () => {
    const { runner } = setup()
    expect(() => runner().query('hi', { ...session, carry: { at: new Date() } as never })).toThrow(
      'carry must be plain JSON',
    )
  })
})
