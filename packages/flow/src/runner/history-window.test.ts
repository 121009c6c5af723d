import type { Message, Store, Thread } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, test } from 'vitest'
import type { HistoryOptions, RunnerOptions } from '../index.ts'
import { broken, steps } from './broken-run.fixture.ts'
import { HistoryWindow } from './history-window.ts'
import { ANN, resultOf, type Setup, session, settled, setup, user } from './runner.fixture.ts'

/** A setup that counts the messages that runs read. */
function counted(options: Partial<RunnerOptions>): Setup & { read(): number } {
  let count = 0
  const env = setup(options, (clock) => {
    const store = memoryStore({ clock })
    const messages: Store['threads']['messages'] = async (ref, page) => {
      const rows = await store.threads.messages(ref, page)
      count += rows.length
      return rows
    }
    return { ...store, threads: { ...store.threads, messages } }
  })
  const since = () => {
    const read = count
    count = 0
    return read
  }
  return { ...env, read: since }
}

/** Puts turns of two messages into the thread, as another process did: `q1`, `a1`, `q2` and so on. */
async function talked({ store }: Setup, turns: number): Promise<void> {
  await store.threads.open(ANN)
  const { token } = await store.leases.acquire(ANN, { runId: 'before', ttlMs: 1_000, begins: true })
  const messages = Array.from({ length: turns }, (_, i) => i + 1).flatMap((n): Message[] => [
    user(`${n}`, `q${n}`),
    { id: `a${n}`, role: 'assistant', content: `answer ${n}`, agentName: 'Desk' },
  ])
  await store.threads.commit(ANN, { messages: messages.map((message) => ({ runId: 'before', message })) }, token)
  await store.leases.release(ANN, token)
}

describe('a runner with a window', () => {
  test('reads as many messages of a thread of 10,000 as it shows, and none for the next turn', async () => {
    const env = counted({ history: { last: 20 } })
    await talked(env, 5_000)
    const desk = env.runner()
    expect(await settled(desk.query('now', session))).toBe(
      `heard ${Array.from({ length: 10 }, (_, i) => 4_991 + i).join(' | ')} | now`,
    )
    expect(env.read()).toBe(21)
    expect(await settled(desk.query('then', session))).toMatch(/^heard 4992 .* now \| then$/)
    expect(env.read()).toBe(0)
  })

  test('begins where a function of the thread says, and reads no more than it needs for that', async () => {
    const env = counted({ history: { from: ({ version }) => (version > 0 ? 'q4991' : undefined) } })
    await talked(env, 5_000)
    const desk = env.runner()
    const shown = Array.from({ length: 10 }, (_, i) => 4_991 + i).join(' | ')
    expect(await settled(desk.query('now', session))).toBe(`heard ${shown} | now`)
    expect(env.read()).toBe(100)
    expect(await settled(desk.query('then', session))).toBe(`heard ${shown} | now | then`)
    expect(env.read()).toBe(0)
  })

  test('that begins at a message shows all if the function names none or one that is not there, unless it has a limit', async () => {
    const env = counted({})
    await talked(env, 3)
    const heard = async (history: HistoryOptions) => {
      const branch = await env.runner().fork(ANN, { at: 'a3' })
      return settled(env.runner({ history }).query('now', { session: branch }))
    }
    expect(await heard({ from: () => undefined })).toBe('heard 1 | 2 | 3 | now')
    expect(await heard({ from: () => 'unknown' })).toBe('heard 1 | 2 | 3 | now')
    expect(await heard({ from: () => undefined, last: 2 })).toBe('heard 3 | now')
    expect(await heard({ from: () => 'q2', last: 2 })).toBe('heard 2 | 3 | now')
  })

  test('that begins at a message goes back to a call before it that still waits', async () => {
    const call: Message = {
      id: 'a1',
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c1', name: 'open', arguments: '{}' }],
    }
    const list = [user('zero'), user('one'), call, user('two'), user('three', 'here')]
    const window = new HistoryWindow({ from: () => 'here' })
    const startIn = (messages: readonly Message[], awaited: readonly string[], older: 'none' | 'unread' = 'unread') =>
      window.beginning(awaited, {} as Thread).startIn({ messages, older })
    expect(startIn(list, [])).toBe(4)
    expect(startIn(list, ['c1'])).toBe(2)
    expect(startIn(list.slice(3), ['c1'])).toBeUndefined()
    expect(startIn([...list, resultOf('c1')], [])).toBe(2)
    expect(startIn(list.slice(0, 4), [])).toBeUndefined()
    expect(startIn(list.slice(0, 4), [], 'none')).toBe(0)
  })

  test('shows whole turns only, and the last one however long it is', async () => {
    const env = counted({})
    await env.runner().query('one', session)
    await env.runner().query('call add:a add:b', session)
    const heard = async (history: HistoryOptions) => {
      const branch = await env.runner().fork(ANN, { at: (await env.messages()).at(-1)?.id ?? '' })
      return settled(env.runner({ history }).query('next', { session: branch }))
    }
    expect(await heard({ last: 1 })).toBe('heard call add:a add:b | next')
    expect(await heard({ last: 6 })).toBe('heard call add:a add:b | next')
    expect(await heard({ last: 7 })).toBe('heard one | call add:a add:b | next')
    expect(await heard({ tokens: 1 })).toBe('heard call add:a add:b | next')
    expect(await heard({ last: 7, count: () => 1, tokens: 6 })).toBe('heard call add:a add:b | next')
    expect(await heard({ count: () => 1, tokens: 7 })).toBe('heard one | call add:a add:b | next')
  })

  test('shows a thread that begins with an answer from its beginning, if it fits', async () => {
    const env = counted({})
    await env.runner().query('one', session)
    const window = new HistoryWindow({ last: 3 }).beginning([], {} as Thread)
    const [question, answer] = (await env.messages()) as [Message, Message]
    const greeted = [{ ...answer, id: 'greeting' }, question, answer]
    expect(window.startIn({ messages: greeted, older: 'none' })).toBe(0)
    expect(window.startIn({ messages: greeted, older: 'unread' })).toBeUndefined()
    expect(window.startIn({ messages: greeted, older: 'left-out' })).toBe(1)
  })

  test('has the calls that wait for an answer or a result, and those of the results that it shows', async () => {
    const env = counted({ history: { last: 1 } })
    await talked(env, 50)
    await env.runner().query('call add:first ask:second open:third open:fourth', session)
    const { checkpoint, openCalls = [] } = (await env.store.threads.get(ANN)) ?? {}
    expect(openCalls).toHaveLength(2)
    await env.runner().resume({ [checkpoint?.interrupts[0]?.id ?? '']: 'yes' }, session)
    const [one, other] = (await env.store.threads.get(ANN))?.openCalls ?? []
    await env.runner().run({ messages: [resultOf(one?.callId ?? '')] }, session)
    await env.runner().run({ messages: [resultOf(other?.callId ?? '')] }, session)
    expect((await env.lines()).slice(100).map((line) => line.replace(/\S+[#/](\d)/g, '$1'))).toMatchInlineSnapshot(`
      [
        "user call add:first ask:second open:third open:fourth",
        "assistant -> 2 3 4 5",
        "tool 2: added 2",
        "tool 3: "yes"",
        "tool 4: result 4",
        "tool 5: result 5",
        "assistant got added 2, "yes", result 4, result 5",
      ]
    `)
    expect(await settled(env.runner().query('next', session))).toMatch(/^heard call .* \| next$/)
  })

  test('goes back to a call before the last turn that still waits', () => {
    const call: Message = {
      id: 'a1',
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c1', name: 'open', arguments: '{}' }],
    }
    const messages = [user('one'), call, user('two'), { ...resultOf('c2') }, user('three')]
    const startOf = (list: readonly Message[], awaited: readonly string[] = []) =>
      new HistoryWindow({ last: 1 }).beginning(awaited, {} as Thread).startIn({ messages: list, older: 'none' })
    expect(startOf(messages)).toBe(4)
    expect(startOf([user('one'), call, user('two')], ['c1'])).toBe(0)
    expect(startOf([user('zero'), user('one'), call, user('two'), resultOf('c1')])).toBe(1)
    // A result whose call is nowhere.
    expect(startOf(messages.slice(2, 4))).toBe(0)
  })

  test('refuses the ids of runs and messages that it does not show', async () => {
    const env = counted({ history: { last: 2 } })
    const first = env.runner()
    await first.run({ messages: [user('one', 'm1')] }, { ...session, runId: 'R1' })
    for (let turn = 0; turn < 3; turn++) await first.query(`${turn}`, session)
    for (const desk of [first, env.runner()]) {
      expect(await settled(desk.query('again', { ...session, runId: 'R1' }))).toBe('RUN_ID_TAKEN')
      expect(await settled(desk.run({ messages: [user('one more', 'm1')] }, session))).toBe('VALIDATION_FAILED')
      await desk.query('next', session)
    }
    expect(await env.lines()).toHaveLength(12)
  })

  test('refuses them on a store that cannot look them up, and reads the whole thread for it', async () => {
    const env = setup({ history: { last: 2 } }, (clock) => {
      const { threads, leases, ...store } = memoryStore({ clock })
      const { known: _, ...plain } = threads
      const acquire: Store['leases']['acquire'] = async (...args) => {
        const { fresh: _, ...taken } = await leases.acquire(...args)
        return taken
      }
      return { ...store, threads: plain, leases: { ...leases, acquire } }
    })
    await talked(env, 20)
    const desk = env.runner()
    for (const runner of [desk, desk, env.runner()]) {
      expect(await settled(runner.query('again', { ...session, runId: 'before' }))).toBe('RUN_ID_TAKEN')
      expect(await settled(runner.run({ messages: [user('one', 'q1')] }, session))).toBe('VALIDATION_FAILED')
      expect(await settled(runner.query('now', session))).toMatch(/^heard (20|now) \| now$/)
    }
  })

  test('gives a call another id if a model may have given it to a call that it does not show', async () => {
    const env = counted({ history: { last: 2 } })
    const desk = env.runner()
    for (const text of ['call add:call_0', 'two', 'three', 'call add:call_0']) await desk.query(text, session)
    const calls = (await env.messages()).flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
    expect(calls).toHaveLength(2)
    expect(new Set(calls).size).toBe(2)
    expect(await settled(env.runner({ history: { last: 100 } }).query('four', session))).toMatch(/four$/)
  })

  test.each<[string, Partial<RunnerOptions>]>([
    ['another window', { history: { last: 2 } }],
    ['no window', {}],
  ])('shows a run that is continued what it was shown before, also with %s', async (_, options) => {
    const env = await broken({ history: { last: 4 } }, {}, (setup) => talked(setup, 9))
    env.expire()
    const seen = steps(async (_ctx, name) => name)
    expect(await settled(env.runner({ agent: seen, history: undefined as never, ...options }).continue(ANN))).toBe(
      '3: a1 b c',
    )
    const next = env.runner({ agent: seen, history: undefined as never, ...options })
    expect(await settled(next.query('next', session))).toBe(options.history ? '2: a b c' : '11: a b c')
  })

  test('settles a lost run before the next turn', async () => {
    const env = await broken({ history: { last: 2 } }, {}, (setup) => talked(setup, 9))
    env.expire()
    expect(await settled(env.runner().query('next', session))).toBe('2: a1 b1 c1')
    expect(await env.lines()).toHaveLength(21)
  })

  test('says what is wrong with its options', () => {
    const made = (history: unknown) => () => setup({ history: history as HistoryOptions }).runner()
    expect(made({})).toThrow('history must have last, tokens or from')
    expect(made({ last: 0 })).toThrow('history.last must be a whole number from 1 on')
    expect(made({ tokens: 1.5 })).toThrow('history.tokens must be a whole number from 1 on')
    expect(made({ from: 'm1' })).toThrow('history.from must be a function')
    expect(made({ last: 1, count: 4 })).toThrow('history.count must be a function')
    expect(made({ lasts: 1 })).toThrow('lasts')
  })
})
