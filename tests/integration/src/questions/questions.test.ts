import { chatModelAgent } from '@troupe/chat-model'
import { parallel, runner, setSubAgents } from '@troupe/flow'
import {
  type AgentHandler,
  type Answers,
  defineTool,
  type Json,
  KernelError,
  type RunResult,
  type Store,
} from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel } from '@troupe/testkit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ASKERS, type Asking } from './askers.fixture.ts'

const SESSION = { app: 'app', user: 'ann', threadId: 't' }
const session = { session: SESSION }
const question: Asking = async (ctx) => void (await ctx.interrupt({ reason: 'input', message: 'Well?' }))

function answersTo({ interrupts = [] }: RunResult, answer: Json = 'yes'): Answers {
  return Object.fromEntries(interrupts.map(({ id }) => [id, answer]))
}

async function snapshot(store: Store): Promise<unknown> {
  const { runId: _, ...thread } = (await store.threads.get(SESSION)) ?? {}
  return JSON.parse(JSON.stringify([thread, await store.threads.messages(SESSION, { limit: 1_000 })]))
}

describe.each(Object.entries(ASKERS))('a question of %s', (_, make) => {
  test('is answered in another process, from a checkpoint that went through JSON', async () => {
    const store = memoryStore()
    let result = await runner({ agent: make(question), store }).query('Go.', session)
    for (let n = 0; result.outcome === 'interrupted' && n < 5; n++) {
      result = await runner({ agent: make(question), store }).resume(answersTo(result), session)
    }
    expect([result.outcome, result.text]).toEqual(['complete', expect.stringMatching(/is done\.$/)])
    expect(await store.threads.get(SESSION)).toMatchObject({ openCalls: [] })
  })

  test.each(['after-tools', 'after-model'] as const)(
    'is absorbed by a soft cancel, %s, and the thread can be used',
    async (mode) => {
      const store = memoryStore()
      const cancelling: Asking = async (ctx) => {
        await desk.cancel(SESSION, { mode })
        await question(ctx)
      }
      const desk = runner({ agent: make(cancelling), store })
      const run = desk.query('Go.', session)
      await expect(run).rejects.toMatchObject({ code: 'ABORTED' })
      const thread = await store.threads.get(SESSION)
      expect([thread?.checkpoint, thread?.openCalls, thread?.unfinished]).toEqual([undefined, [], undefined])
      const { outcome } = await runner({ agent: make(async () => undefined), store }).query('Once more.', session)
      expect(outcome).toBe('complete')
    },
  )

  test('ends the agents that a soft cancel stops as cancelled', async () => {
    const store = memoryStore()
    const desk = runner({
      agent: make(async (ctx) => {
        await desk.cancel(SESSION, { mode: 'after-tools' })
        await question(ctx)
      }),
      store,
    })
    const ends = []
    for await (const event of desk.query('Go.', session).eventsWithoutThrowing()) {
      if (event.type === 'agent-end' || event.type === 'run-end') ends.push(event.outcome)
      expect(event.type === 'action' && event.action.type).not.toBe('interrupt')
    }
    expect(ends).not.toContain('interrupted')
    expect(ends.at(-1)).toBe('cancelled')
  })

  test('a checkpoint that was damaged is refused with a code, and nothing is changed', async () => {
    const store = memoryStore()
    const result = await runner({ agent: make(question), store }).query('Go.', session)
    const { checkpoint } = (await store.threads.get(SESSION)) ?? {}
    const paths = pathsOf(checkpoint as Json)
    const junk = fc.constantFrom<Json>(null, 7, -1, 'x', [], {}, [null], { format: 9 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), fc.option(junk, { nil: undefined }), async (path, value) => {
        const damaged = memoryStore()
        await copyThread(store, damaged, changed(checkpoint as Json, path, value))
        const before = await snapshot(damaged)
        const run = runner({ agent: make(question), store: damaged }).resume(answersTo(result), session)
        const failure: unknown = await run.then(
          () => undefined,
          (error: unknown) => error,
        )
        if (failure === undefined) return
        const { code, message } = KernelError.from(failure)
        expect(
          ['CHECKPOINT_INVALID', 'INTERRUPT_UNKNOWN', 'VALIDATION_FAILED', 'INTERRUPT_EXPIRED'],
          `${path} ${message}`,
        ).toContain(code)
        expect(await snapshot(damaged), path.join('.')).toEqual(before)
      }),
      { numRuns: 150, seed: 1 },
    )
  })
})

/** The paths of all values in a JSON value. */
function pathsOf(value: Json, path: readonly string[] = []): readonly (readonly string[])[] {
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return [...(path.length > 0 ? [path] : []), ...inner.flatMap(([key, next]) => pathsOf(next, [...path, key]))]
}

/** The value with another one at a path, or without it. */
function changed(value: Json, [key = '', ...rest]: readonly string[], to: Json | undefined): Json {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, Json | undefined>
  if (rest.length > 0) copy[key] = changed(copy[key] as Json, rest, to)
  else if (to === undefined && !Array.isArray(value)) delete copy[key]
  else copy[key] = to ?? null
  return copy as Json
}

async function copyThread(from: Store, to: Store, checkpoint: Json): Promise<void> {
  await to.threads.open(SESSION)
  const { token } = await to.leases.acquire(SESSION, { runId: 'copy', ttlMs: 60_000 })
  const { state = {}, openCalls = [] } = (await from.threads.get(SESSION)) ?? {}
  const messages = await from.threads.messages(SESSION, { limit: 1_000 })
  await to.threads.commit(SESSION, { set: state, openCalls, messages, checkpoint: checkpoint as never }, token)
  await to.leases.release(SESSION, token)
}

describe('what a run counts and keeps goes on after a question', () => {
  const ask = (name = 'ask') =>
    defineTool({
      name,
      description: name,
      parameters: { type: 'object' },
      invoke: async (_, ctx) => String(await ctx.interrupt({ reason: 'input', message: 'Well?' })),
    })
  const calling = (name: string) => ({ toolCalls: [{ name }] })

  test('the values of handlers in temp: keys, until the run has ended', async () => {
    const store = memoryStore()
    const seen: Json[] = []
    const counter: AgentHandler = {
      name: 'counter',
      beforeModelRewriteHistory(ctx) {
        const n = Number(ctx.state.get('temp:calls') ?? 0) + 1
        ctx.state.set('temp:calls', n)
        seen.push(n)
      },
    }
    const make = () => {
      const model = scriptedModel([calling('ask'), 'Done.'], { repeat: true })
      return runner({ agent: chatModelAgent({ name: 'a', model, tools: [ask()], handlers: [counter] }), store })
    }
    const desk = make()
    const first = await desk.query('Go.', session)
    expect((await store.threads.get(SESSION))?.state).toEqual({})
    await desk.resume(answersTo(first), session)
    await make().query('Again.', session)
    expect(seen).toEqual([1, 2, 1])
    expect(JSON.stringify(await store.threads.get(SESSION))).not.toContain('temp:calls":2')
  })

  test('transfers', async () => {
    const store = memoryStore()
    const to = (agent_name: string) => ({ toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name } }] })
    const front = chatModelAgent({
      name: 'front',
      description: 'f',
      model: scriptedModel([to('back')], { repeat: true }),
    })
    const back = chatModelAgent({
      name: 'back',
      description: 'b',
      model: scriptedModel([calling('ask'), to('front')], { repeat: true }),
      tools: [ask()],
    })
    const desk = runner({ agent: setSubAgents(front, [back]), store, limits: { transfers: 4 } })
    let result: RunResult | undefined = await desk.query('Go.', session)
    let failure: unknown
    let asked = 0
    while (result?.outcome === 'interrupted' && asked++ < 10) {
      result = await desk.resume(answersTo(result), session).then(
        (next) => next,
        (error: unknown) => {
          failure = error
          return undefined
        },
      )
    }
    expect(failure).toMatchObject({ code: 'TRANSFER_LIMIT' })
    expect(asked).toBe(2)
  })

  test('transfers of parallel branches count together', async () => {
    const to = (agent_name: string) => ({ toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name } }] })
    const pair = (n: number) => {
      const model = (turns: Parameters<typeof scriptedModel>[0]) => scriptedModel(turns)
      const child = chatModelAgent({ name: `child${n}`, description: 'c', model: model([`child${n}`]) })
      const parent = chatModelAgent({ name: `parent${n}`, description: 'p', model: model([to(`child${n}`)]) })
      return setSubAgents(parent, [child])
    }
    const all = (transfers: number) =>
      runner({ agent: parallel({ name: 'all', agents: [pair(1), pair(2), pair(3)] }), limits: { transfers } }).query(
        'Go.',
      )
    await expect(all(2)).rejects.toMatchObject({ code: 'TRANSFER_LIMIT' })
    expect((await all(3)).outcome).toBe('complete')
  })
})
