import { KernelError, type Message, type Store, type ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type FakeClock, fakeClock } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { SessionManager } from './session-manager.ts'
import type { SessionManagerOptions } from './session-settings.ts'

const ANN: ThreadRef = { app: 'app', user: 'ann', threadId: 't1' }
const BOB: ThreadRef = { ...ANN, user: 'bob' }
const inThread = (threadId: string): ThreadRef => ({ ...ANN, threadId })

function stage(options: Partial<SessionManagerOptions> = {}) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const reports: KernelError[] = []
  const make = () => new SessionManager({ store, clock, report: (error) => void reports.push(error), ...options })
  return { clock, store, reports, sessions: make(), make }
}

/** Commits to a thread as a run does. */
async function commitRun(
  store: Store,
  ref: ThreadRef,
  commit: Parameters<Store['threads']['commit']>[1] = {},
): Promise<void> {
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: 'run', ttlMs: 1_000 })
  await store.threads.commit(ref, commit, token)
  await store.leases.release(ref, token)
}
/** Advances the clock until the work is done. */
async function ticking<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let settled = false
  const ended = work.finally(() => {
    settled = true
  })
  for (let i = 0; i < 100 && !settled; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(20)
  }
  return ended
}
const OPEN = { openCalls: [{ callId: 'c1', name: 'pick', agentName: 'desk' }] }
const ASKED = { checkpoint: { format: 1, runId: 'run', agentName: 'desk', interrupts: [], state: null } }
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => KernelError.from(error).code,
  )
const idsIn = async (store: Store, owner = ANN) => (await store.threads.list(owner)).map(({ ref }) => ref.threadId)

describe('会话管理: a session', () => {
  test('is created once by parallel callers, with the state of the first', async () => {
    const { make, store, clock } = stage()
    const states = await ticking(clock, Promise.all([1, 2, 3].map((n) => make().getOrCreateSession(ANN, { n }))))
    expect(new Set(states.map(({ state }) => state.n)).size).toBe(1)
    expect(await store.threads.list(ANN)).toHaveLength(1)
    const again = await make().getOrCreateSession(ANN, { n: 9 })
    expect(again.state).toEqual(states[0]?.state)
  })

  test('is known by app, user and thread', async () => {
    const { sessions } = stage()
    await sessions.getOrCreateSession(ANN, { whose: 'ann' })
    expect(await sessions.getSession(BOB)).toBeUndefined()
    expect(await sessions.getSession({ ...ANN, app: 'other' })).toBeUndefined()
    expect(await sessions.getStateValue(BOB, 'whose')).toBeUndefined()
    expect(await codeOf(sessions.setStateValue(BOB, 'whose', 'bob'))).toBe('NOT_FOUND')
    expect(await sessions.deleteSession(BOB)).toBe(false)
    expect(await sessions.getStateValue(ANN, 'whose')).toBe('ann')
  })
})

describe('状态管理: the state of a session between runs', () => {
  test('is read and written by key', async () => {
    const { sessions } = stage()
    await sessions.getOrCreateSession(ANN, { a: 1 })
    expect(await sessions.updateSessionState(ANN, { b: { c: [2] }, a: 3 })).toEqual({ a: 3, b: { c: [2] } })
    await sessions.setStateValue(ANN, 'd', null)
    expect(await sessions.getStateValue(ANN, 'b')).toEqual({ c: [2] })
    expect(await sessions.getStateValue(ANN, 'toString')).toBeUndefined()
    await sessions.removeStateKeys(ANN, ['a', 'nothing'])
    expect(await sessions.getSessionState(ANN)).toEqual({ b: { c: [2] }, d: null })
  })

  test('is cleared except for the given prefixes', async () => {
    const { sessions } = stage()
    await sessions.getOrCreateSession(ANN, { 'user:name': 'Ann', 'app:v': 1, draft: 'x' })
    await sessions.clearSessionState(ANN, { keepPrefixes: ['user:', 'app:'] })
    expect(await sessions.getSessionState(ANN)).toEqual({ 'user:name': 'Ann', 'app:v': 1 })
    await sessions.clearSessionState(ANN)
    expect(await sessions.getSessionState(ANN)).toEqual({})
  })

  test.each(['__proto__', 'constructor', 'temp:x'])('refuses the key %s', async (key) => {
    const { sessions } = stage()
    await sessions.getOrCreateSession(ANN)
    const updates = JSON.parse(`{"${key}":1}`) as { [key: string]: number }
    expect(await codeOf(sessions.updateSessionState(ANN, updates))).toBe('VALIDATION_FAILED')
  })

  test('many writes at once all arrive, in one process and in several', async () => {
    const { make, clock } = stage()
    const managers = [make(), make(), make()]
    await managers[0]?.getOrCreateSession(ANN)
    const writes = managers.flatMap((sessions, m) => [1, 2, 3].map((n) => sessions.setStateValue(ANN, `${m}-${n}`, n)))
    await ticking(clock, Promise.all(writes))
    expect(Object.keys((await managers[0]?.getSessionState(ANN)) ?? {})).toHaveLength(9)
    expect(clock.pending).toBe(0)
  })

  test('cannot be written while a run has the thread, and the run goes on', async () => {
    const { sessions, store } = stage()
    await sessions.getOrCreateSession(ANN)
    const { token } = await store.leases.acquire(ANN, { runId: 'r1', ttlMs: 1_000 })
    expect(await codeOf(sessions.setStateValue(ANN, 'a', 1))).toBe('THREAD_BUSY')
    expect(await codeOf(sessions.deleteSession(ANN))).toBe('THREAD_BUSY')
    await store.threads.commit(ANN, { set: { a: 2 } }, token)
    await store.leases.release(ANN, token)
    expect(await sessions.getStateValue(ANN, 'a')).toBe(2)
  })
})

test('消息追踪: processed messages are known to every process', async () => {
  const { make } = stage()
  await make().getOrCreateSession(ANN)
  await make().markMessagesProcessed(ANN, ['m1', 'm2'])
  expect(await make().getProcessedMessageIds(ANN, ['m0', 'm1', 'm2'])).toEqual(new Set(['m1', 'm2']))
  expect(await make().getProcessedMessageIds(BOB, ['m1'])).toEqual(new Set())
})

describe('自动清理: an idle session', () => {
  const left = async (commit: object, ms: number, options: Partial<SessionManagerOptions> = {}) => {
    const world = stage(options)
    await commitRun(world.store, ANN, commit)
    world.clock.advance(ms)
    const result = await world.sessions.sweep()
    return { ...world, result, there: (await world.store.threads.get(ANN)) !== undefined }
  }

  test('is deleted after 1,200 seconds and not before', async () => {
    expect(await left({}, 1_200_000)).toMatchObject({ there: true })
    expect(await left({}, 1_200_001)).toMatchObject({ there: false, result: { deleted: 1, pending: 0, failed: 0 } })
  })

  test.each([
    ['a call', OPEN],
    ['a question', ASKED],
  ])('stays while %s waits for the client, for a day', async (_, commit) => {
    expect(await left(commit, 86_400_000)).toMatchObject({ there: true, result: { deleted: 0, pending: 1 } })
    expect(await left(commit, 86_400_001)).toMatchObject({ there: false })
    expect(await left(commit, 5_001, { sessionTimeoutMs: 1_000, maxPendingMs: 5_000 })).toMatchObject({ there: false })
  })

  test('stays while a run is active in it', async () => {
    const { store, clock, sessions } = stage()
    await commitRun(store, ANN)
    clock.advance(2_000_000)
    await store.leases.acquire(ANN, { runId: 'r1', ttlMs: 10_000 })
    expect(await sessions.sweep()).toEqual({ deleted: 0, pending: 0, failed: 0, logs: 0 })
    expect(await idsIn(store)).toEqual(['t1'])
  })

  test('stays if it is used during the sweep', async () => {
    const { store, clock, sessions } = stage()
    await commitRun(store, ANN)
    clock.advance(2_000_000)
    const { idle } = store.threads
    store.threads.idle = async (query) => {
      const found = await idle(query)
      await commitRun(store, ANN)
      return found
    }
    expect(await sessions.sweep()).toEqual({ deleted: 0, pending: 0, failed: 0, logs: 0 })
    expect(await idsIn(store)).toEqual(['t1'])
  })

  test('is deleted at the interval once the manager is started, among many that stay', async () => {
    const { store, clock, sessions } = stage()
    for (let i = 0; i < 120; i++) await commitRun(store, inThread(`p${i}`), OPEN)
    for (let i = 0; i < 150; i++) await commitRun(store, inThread(`t${i}`))
    clock.advance(1_300_000)
    expect(await idsIn(store)).toHaveLength(100)
    sessions.start()
    sessions.start()
    expect(clock.pending).toBe(1)
    clock.advance(300_000)
    await sessions[Symbol.asyncDispose]()
    expect(
      (await store.threads.list(ANN, { limit: 1_000 }))
        .map(({ ref }) => ref.threadId)
        .every((id) => id.startsWith('p')),
    ).toBe(true)
    expect(await store.threads.list(ANN, { limit: 1_000 })).toHaveLength(120)
    expect(clock.pending).toBe(0)
  })

  test('is found behind more sessions that wait than a page of the store can have', async () => {
    const { store, clock, sessions } = stage()
    for (let i = 0; i < 1_200; i++) await commitRun(store, inThread(`p${i}`), OPEN)
    clock.advance(1)
    await commitRun(store, inThread('expired'))
    clock.advance(1_300_000)
    expect(await sessions.sweep()).toEqual({ deleted: 1, pending: 1_200, failed: 0, logs: 0 })
    expect(await store.threads.get(inThread('expired'))).toBeUndefined()
  })

  test('of other apps stays if apps are given', async () => {
    const { store, clock, sessions } = stage({ apps: ['mine'] })
    await commitRun(store, ANN)
    await commitRun(store, { ...ANN, app: 'mine' })
    clock.advance(2_000_000)
    expect(await sessions.sweep()).toMatchObject({ deleted: 1 })
    expect(await idsIn(store)).toEqual(['t1'])
  })

  test('a sweep that fails is reported, and the next one comes', async () => {
    const { store, clock, sessions, reports } = stage()
    store.threads.idle = () => Promise.reject(new Error('no connection'))
    sessions.start()
    clock.advance(600_000)
    await sessions[Symbol.asyncDispose]()
    expect(reports.map(({ message }) => message)).toEqual(['no connection', 'no connection'])
  })
})

describe('the log of a run', () => {
  const DAY = 86_400_000
  const keeping = { sessionTimeoutMs: Number.POSITIVE_INFINITY }
  const logs = async (store: Store, ref: ThreadRef, count: number) => {
    await store.threads.open(ref)
    for (let i = 0; i < count; i++) await store.runLog.append(ref, `r${i}`, 0, ['a'], true)
  }
  const isThere = async (store: Store, ref: ThreadRef, runId = 'r0') => {
    const { signal } = new AbortController()
    const read = Array.fromAsync(store.runLog.follow(ref, runId, { signal }))
    return (await codeOf(read)) === 'done'
  }

  test('is deleted a day after the run has ended and not before, however many there are, and its session stays', async () => {
    const { store, clock, sessions } = stage(keeping)
    await logs(store, ANN, 250)
    clock.advance(DAY)
    expect(await sessions.sweep()).toEqual({ deleted: 0, pending: 0, failed: 0, logs: 0 })
    clock.advance(1)
    expect(await sessions.sweep()).toEqual({ deleted: 0, pending: 0, failed: 0, logs: 250 })
    expect(await isThere(store, ANN)).toBe(false)
    expect(await idsIn(store)).toEqual(['t1'])
  })

  test('is kept for as long as the app wants, and as long as its session if that is for ever', async () => {
    const { store, clock, make } = stage(keeping)
    await logs(store, ANN, 1)
    clock.advance(10 * DAY)
    const sweep = (runLogMs: number) => new SessionManager({ store, clock, ...keeping, runLogMs }).sweep()
    expect(await sweep(Number.POSITIVE_INFINITY)).toMatchObject({ logs: 0 })
    expect(await sweep(10 * DAY)).toMatchObject({ logs: 0 })
    expect(await sweep(10 * DAY - 1)).toMatchObject({ logs: 1 })
    expect(await make().sweep()).toMatchObject({ logs: 0 })
  })

  test('of another app, and of a run that has not ended, stays', async () => {
    const { store, clock, make } = stage({ ...keeping, apps: ['app'] })
    await logs(store, { ...ANN, app: 'other' }, 1)
    await logs(store, ANN, 1)
    await store.leases.acquire(ANN, { runId: 'running', ttlMs: 3 * DAY })
    await store.runLog.append(ANN, 'running', 0, ['a'])
    clock.advance(2 * DAY)
    expect(await make().sweep()).toMatchObject({ logs: 1 })
    expect(await isThere(store, { ...ANN, app: 'other' })).toBe(true)
    expect(await store.runLog.append(ANN, 'running', 1, ['b'])).toBe(2)
  })

  test('stays with a manager whose store has none', async () => {
    const { store, clock } = stage()
    const { threads, leases } = store
    await logs(store, ANN, 1)
    clock.advance(2 * DAY)
    const manager = new SessionManager({ store: { threads, leases }, clock, ...keeping })
    expect(await manager.sweep()).toMatchObject({ logs: 0 })
    expect(await isThere(store, ANN)).toBe(true)
  })
})

describe('用户会话限制: sessions per user', () => {
  const full = async (...commits: object[]) => {
    const world = stage({ maxSessionsPerUser: commits.length })
    for (const [i, commit] of commits.entries()) {
      await commitRun(world.store, inThread(`t${i}`), commit)
      world.clock.advance(1_000)
    }
    return world
  }

  test('the one that was idle longest is deleted', async () => {
    const { sessions, store } = await full({}, {}, {})
    await sessions.setStateValue(inThread('t0'), 'used', true)
    await sessions.getOrCreateSession(inThread('new'))
    expect(await idsIn(store)).toEqual(['t0', 't2', 'new'])
  })

  test('none is deleted by a lookup', async () => {
    const { sessions, store } = await full({}, {})
    await sessions.getOrCreateSession(inThread('t1'))
    expect(await idsIn(store)).toEqual(['t0', 't1'])
  })

  test('one that waits for a client or runs stays', async () => {
    const { sessions, store } = await full(OPEN, ASKED, {}, {})
    await store.leases.acquire(inThread('t2'), { runId: 'r1', ttlMs: 60_000 })
    await sessions.getOrCreateSession(inThread('new'))
    expect(await idsIn(store)).toEqual(['t0', 't1', 't2', 'new'])
  })

  test('SESSION_LIMIT if all wait or run', async () => {
    const { sessions, store } = await full(OPEN, ASKED)
    expect(await codeOf(sessions.getOrCreateSession(inThread('new')))).toBe('SESSION_LIMIT')
    expect(await idsIn(store)).toEqual(['t0', 't1'])
  })

  test('sessions of other users do not count', async () => {
    const { sessions, store } = await full({}, {})
    await sessions.getOrCreateSession(BOB)
    expect([await idsIn(store), await idsIn(store, BOB)]).toEqual([['t0', 't1'], ['t1']])
  })
})

describe('自动记忆: before a session is deleted', () => {
  const say = (id: string): { runId: string; message: Message } => ({
    runId: 'run',
    message: { id, role: 'user', content: id },
  })
  const memory = (fail: () => boolean = () => false) => {
    const kept: string[] = []
    return {
      kept,
      async add(ref: ThreadRef, messages: AsyncIterable<Message>) {
        for await (const { id } of messages) kept.push(`${ref.user}/${ref.threadId}/${id}`)
        if (fail()) throw new Error('memory is full')
      },
    }
  }
  const old = async (clock: FakeClock, store: Store) => {
    await commitRun(store, ANN, { messages: [say('m1'), say('m2')] })
    clock.advance(2_000_000)
  }

  test('memory gets its messages, in order', async () => {
    const added = memory()
    const { clock, store, sessions } = stage({ memory: added })
    await old(clock, store)
    await sessions.sweep()
    expect(added.kept).toEqual(['ann/t1/m1', 'ann/t1/m2'])
    expect(await idsIn(store)).toEqual([])
  })

  test('a failure of the memory postpones it', async () => {
    let full = true
    const { clock, store, sessions, reports } = stage({ memory: memory(() => full) })
    await old(clock, store)
    expect(await sessions.sweep()).toEqual({ deleted: 0, pending: 0, failed: 1, logs: 0 })
    expect([await idsIn(store), reports.length]).toEqual([['t1'], 1])
    expect(await codeOf(sessions.deleteSession(ANN))).toBe('AGENT_FAILED')
    expect((await store.threads.get(ANN))?.runId).toBeUndefined()
    full = false
    expect(await sessions.sweep()).toMatchObject({ deleted: 1 })
    expect(clock.pending).toBe(0)
  })

  test('a memory that does not answer is given up after a minute', async () => {
    const { clock, store, sessions } = stage({ memory: { add: () => new Promise(() => {}) } })
    await old(clock, store)
    const swept = sessions.sweep()
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(60_000)
    expect(await swept).toMatchObject({ failed: 1 })
    expect([(await store.threads.get(ANN))?.runId, clock.pending]).toEqual([undefined, 0])
  })

  test('a slow memory keeps the lease, and without the lease nothing is deleted', async () => {
    const { clock, store, sessions } = stage({
      memory: {
        async add() {
          for (let i = 0; i < 5; i++) {
            clock.advance(9_000)
            await new Promise((resolve) => setImmediate(resolve))
          }
        },
      },
    })
    await old(clock, store)
    expect(await sessions.deleteSession(ANN)).toBe(true)
    await commitRun(store, ANN)
    store.leases.renew = () => Promise.reject(new KernelError('LEASE_LOST', 'test: gone'))
    expect(await codeOf(sessions.deleteSession(ANN))).toBe('LEASE_LOST')
    expect(await idsIn(store)).toEqual(['t1'])
  })
})

describe('a session that is cut', () => {
  const said = (id: string) => ({ messages: [{ runId: 'run', message: { id, role: 'user', content: id } as const }] })
  const cutTwice = async (options: Partial<SessionManagerOptions> = {}) => {
    const world = stage(options)
    for (const id of ['a', 'b']) await commitRun(world.store, ANN, said(id))
    for (const before of ['b', 'a']) {
      const thread = await world.sessions.getSession(ANN)
      if (thread) await world.sessions.cut(thread, { before })
    }
    return world
  }

  test('keeps what it was under other names, and ends together with them, in memory too', async () => {
    const remembered: string[] = []
    const memory = {
      async add(ref: ThreadRef, messages: AsyncIterable<Message>) {
        for await (const { id } of messages) remembered.push(`${ref.threadId} ${id}`)
      },
    }
    const { sessions, store } = await cutTwice({ memory })
    expect(await idsIn(store)).toEqual(['t1~1', 't1~2', 't1'])
    expect(await sessions.deleteSession(ANN)).toBe(true)
    expect(await idsIn(store)).toEqual([])
    expect(remembered).toEqual(['t1~2 a', 't1~1 a', 't1~1 b'])
  })

  test('counts as one session of its user', async () => {
    const { sessions, store } = await cutTwice({ maxSessionsPerUser: 2 })
    await sessions.getOrCreateSession(inThread('t2'))
    expect(await idsIn(store)).toEqual(['t1~1', 't1~2', 't1', 't2'])
    await sessions.getOrCreateSession(inThread('t3'))
    expect(await idsIn(store)).toEqual(['t2', 't3'])
  })

  test('that has changed since it was read is not cut', async () => {
    const { sessions, store } = stage()
    await commitRun(store, ANN, said('a'))
    const thread = await sessions.getSession(ANN)
    await commitRun(store, ANN, said('b'))
    expect(thread && (await codeOf(sessions.cut(thread, { before: 'a' })))).toBe('THREAD_BUSY')
    expect(await idsIn(store)).toEqual(['t1'])
  })
})
