import type { Message, Store, Thread, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FlowRunner, type HistoryOptions, runner } from '../index.ts'
import { obedient } from './obedient.fixture.ts'
import { ANN, type Setup, session, settled, setup, tapped, user } from './runner.fixture.ts'

/** A setup that counts the pages of messages that runs read. */
function counted(durability: 'step' | 'turn' = 'step'): Setup & { reads(): number } {
  let reads = 0
  const env = setup({ durability }, (clock) =>
    tapped(memoryStore({ clock }), (operation) => {
      if (operation === 'threads.messages') reads++
    }),
  )
  const since = () => {
    const count = reads
    reads = 0
    return count
  }
  return { ...env, reads: since }
}

describe.each(['step', 'turn'] as const)('the history that a runner keeps, with durability %s', (durability) => {
  test('spares the next run on the thread every read', async () => {
    const env = counted(durability)
    const desk = env.runner()
    await desk.query('one', session)
    await desk.query('call add:a', session)
    expect(await settled(desk.query('two', session))).toBe('heard one | call add:a | two')
    expect(env.reads()).toBe(0)
  })

  test('is read once by another process, and not on a thread that has nothing', async () => {
    const env = counted(durability)
    await env.runner().query('one', session)
    expect(env.reads()).toBe(0)
    expect(await settled(env.runner().query('two', session))).toBe('heard one | two')
    expect(env.reads()).toBe(1)
  })

  test('is read of a branch that nobody has written to', async () => {
    const env = counted(durability)
    await env.runner().run({ messages: [user('one', 'm1')] }, session)
    const branch = await env.store.threads.fork(ANN, { at: 'm1', to: 'branch' })
    expect(branch.version).toBe(0)
    expect(await settled(env.runner().query('two', { session: branch.ref }))).toBe('heard one | two')
  })

  test('is not used once another process has written to the thread', async () => {
    const env = counted(durability)
    const [here, there] = [env.runner(), env.runner()]
    await here.query('one', session)
    await there.query('two', session)
    expect(await settled(here.query('three', session))).toBe('heard one | two | three')
    expect(await settled(there.query('four', session))).toBe('heard one | two | three | four')
  })

  test('is not used for a thread of the same name that was opened again', async () => {
    const env = counted(durability)
    const [here, there] = [env.runner(), env.runner()]
    await here.query('one', session)
    await env.store.threads.delete(ANN)
    await there.query('two', session)
    expect(await settled(here.query('three', session))).toBe('heard two | three')
  })

  test('does not let a run id or a message of the thread count as new', async () => {
    const env = counted(durability)
    const desk = env.runner()
    await desk.run({ messages: [user('one', 'm1')] }, { ...session, runId: 'R1' })
    for (let turn = 0; turn < 2; turn++) {
      expect(await settled(desk.query('again', { ...session, runId: 'R1' }))).toBe('RUN_ID_TAKEN')
      expect(await settled(desk.run({ messages: [user('one more', 'm1')] }, session))).toBe('VALIDATION_FAILED')
      await desk.query('next', session)
    }
    expect(await env.lines()).toHaveLength(6)
  })

  test('does not change with the messages that a caller has given or got', async () => {
    const env = setup({ durability })
    const desk = env.runner()
    const given = { id: 'm1', role: 'user', content: 'one' } as { id: string; role: 'user'; content: string }
    const { messages } = await desk.run({ messages: [given] }, session)
    given.content = 'changed'
    for (const message of messages) (message as { content: string }).content = 'changed'
    expect(await settled(desk.query('two', session))).toBe('heard one | two')
  })

  test('is dropped when all of them are too long, the least recently used first', async () => {
    const env = counted(durability)
    // Three short histories fit, four do not.
    const desk = env.runner({ limits: { keptChars: 2_000 } })
    const on = (threadId: string) => desk.query('hi', { session: { ...ANN, threadId } })
    for (const id of ['a', 'b', 'c', 'd']) await on(id)
    env.reads()
    await on('d')
    expect(env.reads()).toBe(0)
    await on('a')
    expect(env.reads()).toBe(1)
    const none = env.runner({ limits: { keptChars: 0 } })
    await none.query('one', { session: { ...ANN, threadId: 'x' } })
    env.reads()
    await none.query('two', { session: { ...ANN, threadId: 'x' } })
    expect(env.reads()).toBe(1)
  })
})

test('after a question, a lost run and a fork the next run has the history that is stored', async () => {
  const env = setup()
  const desk = env.runner()
  await desk.query('call ask:a', session)
  await desk.resume(await env.answers({ a: 'yes' }), session)
  expect(await settled(desk.query('two', session))).toBe('heard call ask:a | two')
  const branch = await desk.fork(ANN, { at: (await env.messages())[0]?.id ?? '' })
  expect(await settled(desk.query('three', { session: branch }))).toBe('heard call ask:a | three')
  expect(await settled(desk.query('four', session))).toBe('heard call ask:a | two | four')
})

type Deed = {
  readonly who: 0 | 1
  readonly thread: 'a' | 'b'
  readonly what: 'say' | 'call' | 'delete' | 'cut' | 'fork'
}

const deeds = fc.array(
  fc.record<Deed>({
    who: fc.constantFrom(0, 1),
    thread: fc.constantFrom('a', 'b'),
    what: fc.constantFrom('say', 'say', 'say', 'call', 'delete', 'cut', 'fork'),
  }),
  { maxLength: 25 },
)

/** Carries out deeds and gives what the agents heard. */
async function heardBy(
  list: readonly Deed[],
  keptChars: number | undefined,
  history: HistoryOptions | undefined,
): Promise<readonly string[]> {
  const store = memoryStore()
  const window = history && { history }
  const limits = keptChars === undefined ? {} : { limits: { keptChars } }
  const make = () => runner({ agent: obedient('Desk'), store, ...limits, ...window })
  const runners = [make(), make()] as const
  const heard: string[] = []
  for (const [at, { who, thread, what }] of list.entries()) {
    heard.push(await carryOut(store, runners[who], { ...ANN, threadId: thread }, what, at))
  }
  return heard
}

async function carryOut(
  store: Store,
  desk: FlowRunner,
  ref: ThreadRef,
  what: Deed['what'],
  at: number,
): Promise<string> {
  const last = (await store.threads.messages(ref, { newestFirst: true, limit: 3 })).at(-1)?.message as
    | Message
    | undefined
  if (what === 'say' || what === 'call') {
    const text = what === 'say' ? `${at}` : `call add:c${at}`
    return settled(desk.query(text, { session: ref, runId: `R${at}` }))
  }
  if (what === 'delete') return String(await store.threads.delete(ref))
  if (!last) return ''
  if (what === 'fork') {
    const branch = await desk.fork(ref, { at: last.id, to: `${ref.threadId}${at}` })
    return settled(desk.query(`${at}`, { session: branch, runId: `R${at}` }))
  }
  const { token } = await store.leases.acquire(ref, { runId: `cut${at}`, ttlMs: 1_000 })
  await store.threads.cut(ref, { at: last.id, to: `${ref.threadId}~${at}` }, token)
  await store.leases.release(ref, token)
  return 'cut'
}

test.each([
  ['all', undefined],
  ['5 messages', { last: 5 }],
  ['60 tokens', { tokens: 60 }],
  ['what follows a fork', { from: ({ forkedFrom }: Thread) => forkedFrom?.messageId }],
])(
  'two processes that show %s, speak, fork, cut and delete hear what they would hear if nothing was kept',
  async (_, history) => {
    await fc.assert(
      fc.asyncProperty(deeds, async (list) => {
        const read = await heardBy(list, 0, history)
        expect(await heardBy(list, undefined, history)).toEqual(read)
        expect(await heardBy(list, 1_500, history)).toEqual(read)
      }),
      { numRuns: Number(process.env.RUNS ?? 60) },
    )
  },
)
