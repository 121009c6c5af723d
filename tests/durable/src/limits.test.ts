import { chatModelAgent } from '@troupe/chat-model'
import { type RestateWorkerOptions, registerWorkers, restateRunner, restateWorker } from '@troupe/durable-restate'
import { runner } from '@troupe/flow'
import { type Agent, type ChatModel, contextKey, defineTool, KernelError, type RunContext } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_RESTATE, startRestate, type TestRestate } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { read, thread } from './talk.ts'

const LOCALE = contextKey<string>('locale')
const usage = { inputTokens: 1, outputTokens: 1 }

/** An agent that says one thing. */
function saying(name: string, text: string): Agent {
  const model: ChatModel = {
    name: 'one',
    async *stream() {
      yield { type: 'text-delta', delta: text }
      yield { type: 'finish', reason: 'stop', usage }
    },
  }
  return chatModelAgent({ name, model })
}

/** An agent that calls its tool once. */
function calling(name: string, invoke: (args: never, ctx: never) => unknown): Agent {
  const tool = defineTool({ name: 'do', description: 'Does.', parameters: { type: 'object' }, invoke: invoke as never })
  const model: ChatModel = {
    name: 'calls',
    async *stream({ messages }) {
      const last = messages.at(-1)
      if (last?.role === 'tool') yield { type: 'text-delta', delta: String(last.content).slice(0, 20) }
      else {
        yield { type: 'tool-call-start', callId: 'c', name: 'do' }
        yield { type: 'tool-call-delta', callId: 'c', delta: '{}' }
        yield { type: 'tool-call-end', callId: 'c' }
      }
      yield { type: 'finish', reason: last?.role === 'tool' ? 'stop' : 'tool-calls', usage }
    },
  }
  return chatModelAgent({ name, model, tools: [tool] })
}

describe.skipIf(NO_RESTATE)('a worker on Restate', () => {
  const store = memoryStore()
  let restate: TestRestate
  beforeAll(async () => {
    restate = await startRestate()
  })
  afterAll(() => restate?.[Symbol.asyncDispose]())

  /** A worker in this process. */
  const serve = async (agents: RestateWorkerOptions['agents'], options: Partial<RestateWorkerOptions> = {}) => {
    const worker = restateWorker({ store, agents, ...options })
    const port = await worker.serve(0, '127.0.0.1')
    await registerWorkers({ admin: restate.admin, workers: `http://127.0.0.1:${port}` })
    return worker
  }
  const on = (agent: Agent, version?: string) =>
    restateRunner({ agent, ingress: restate.ingress, store, shared: [LOCALE], ...(version && { version }) })

  it('fails a run with a code if a step gives too much, and keeps what fits', async () => {
    const agent = calling('large', () => 'x'.repeat(3_000_000))
    const host: RestateWorkerOptions['agents'][string] = (own) => runner({ agent, ...own })
    await using _small = await serve({ large: host }, { maxStepChars: 1_000_000 })
    const session = thread()
    await expect(on(agent).run('Go.', { session })).rejects.toMatchObject({ code: 'STEP_TOO_LARGE' })
    expect(await store.threads.get(session)).not.toHaveProperty('unfinished')
    await using _large = await serve({ large: host })
    expect(await on(agent).run('Go.', { session: thread() })).toMatchObject({ text: 'x'.repeat(20) })
  })

  it('stops trying after so many attempts, and the run waits for a person', async () => {
    const agent = saying('broken', 'Fine.')
    let broken = true
    const host: RestateWorkerOptions['agents'][string] = (own) => {
      if (broken) throw new Error('the worker is broken')
      return runner({ agent, ...own })
    }
    await using _worker = await serve({ broken: host }, { maxAttempts: 3 })
    const session = thread()
    const run = read(on(agent).run('Go.', { session, runId: 'waits' }), session, 'waits')
    const state = () =>
      restate.ask("select id, status, retry_count from sys_invocation where idempotency_key = 'waits'")
    await expect.poll(state, { timeout: 20_000 }).toMatchObject([{ status: 'paused' }])
    broken = false
    const [row] = await state()
    const resumed = await fetch(`${restate.admin}/invocations/${row?.id}/resume`, { method: 'PATCH' })
    expect(resumed.ok).toBe(true)
    expect(await run.ended).toMatchObject({ outcome: 'complete', text: 'Fine.' })
  })

  it('has two versions of an agent, and old runs end with the old one', async () => {
    const gate = Promise.withResolvers<void>()
    const old = calling('versioned', async () => gate.promise.then(() => 'old'))
    const later = saying('versioned', 'new')
    await using _worker = await serve({
      versioned: (own) => runner({ agent: old, ...own }),
      'versioned@2': (own) => runner({ agent: later, ...own }),
    })
    const session = thread()
    const first = read(on(old).run('Go.', { session, runId: 'old' }), session, 'old')
    await first.seen(({ type }) => type === 'tool-start')
    expect(await on(later, '2').run('Go.', { session: thread() })).toMatchObject({ text: 'new' })
    gate.resolve()
    expect(await first.ended).toMatchObject({ outcome: 'complete', text: 'old' })
  })

  it('gets the shared values of the context', async () => {
    const agent = calling('shares', (_, ctx: { get(key: typeof LOCALE): unknown }) => `in ${ctx.get(LOCALE)}`)
    await using _worker = await serve({ shares: (own) => runner({ agent, ...own }) }, { shared: [LOCALE] })
    const prepare = (ctx: RunContext) => ctx.with(LOCALE, 'zh')
    expect(await on(agent).run('Go.', { session: thread(), prepare })).toMatchObject({ text: 'in zh' })
  })

  it('refuses an order for an agent that nobody has, and the thread is free', async () => {
    const session = thread()
    const error = await on(saying('nobody', ''))
      .run('Go.', { session })
      .then(
        () => undefined,
        (reason: unknown) => KernelError.from(reason),
      )
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('register the workers') })
    expect((await store.threads.get(session))?.runId).toBeUndefined()
  })

  it('goes on with a run that was ordered and never reached Restate', async () => {
    const agent = saying('ordered', 'Hello.')
    await using _worker = await serve({ ordered: (own) => runner({ agent, ...own }) })
    const [session, runId] = [thread(), 'ordered']
    const away = restateRunner({ agent, ingress: 'http://127.0.0.1:1', store, submitMs: 1 })
    await expect(away.run('Go.', { session, runId })).rejects.toMatchObject({ code: 'ENGINE_UNAVAILABLE' })
    const run = on(agent).continue?.(session, { runId, again: true })
    expect(await run).toMatchObject({ text: 'Hello.' })
  })
})
