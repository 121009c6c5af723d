import { EventType } from '@ag-ui/core'
import { type FullStore, type Json, KernelError, type Store, stream } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import type { Logged } from '../log/logged.ts'
import type { AgUiEvent, RunAgentInput } from '../protocol.ts'
import type { ExecutionState } from './execution-state.ts'
import { Executions } from './executions.ts'
import { follow } from './follow.ts'
import type { RunLog } from './run-log.ts'
import type { ServedAgent } from './served-agent.ts'
import { startServedRun } from './start-served-run.ts'

const OWNER = { app: 'demo', user: 'ann' }
const REF = { ...OWNER, threadId: 't1' }
const INPUT: RunAgentInput = { threadId: 't1', runId: 'r1', messages: [], tools: [], context: [] }
const STARTED: AgUiEvent = { type: EventType.RUN_STARTED, threadId: 't1', runId: 'r1' }
const FINISHED: AgUiEvent = { type: EventType.RUN_FINISHED, threadId: 't1', runId: 'r1' }
const custom = (value: unknown): AgUiEvent => ({ type: EventType.CUSTOM, name: 'x', value })

interface Stage {
  readonly executions: Executions
  readonly store: Store
  readonly reported: KernelError[]
  start(): Promise<ExecutionState & { readonly log: RunLog }>
  read(after?: number, signal?: AbortSignal): Promise<AgUiEvent[]>
}

function stage(
  say: (signal: AbortSignal) => AsyncIterable<AgUiEvent>,
  { store = memoryStore(), clock = fakeClock(0), agent = {} as Partial<ServedAgent> } = {},
): Stage {
  const reported: KernelError[] = []
  const served: ServedAgent = {
    run: (_, options) => say(options?.signal as AbortSignal),
    cancel: async () => false,
    ...agent,
  }
  const executions = new Executions(clock)
  const report = (error: KernelError) => void reported.push(error)
  const server = { agent: served, executions, store, clock, detachedMs: 300_000, report }
  return {
    executions,
    store,
    reported,
    async start() {
      const run = await startServedRun(server, INPUT, OWNER, { requestId: 'q1' })
      if ('message' in run) throw new Error(`${run.code}: ${run.message}`)
      return run as ExecutionState & { readonly log: RunLog }
    },
    async read(after = 0, signal = new AbortController().signal) {
      const events: AgUiEvent[] = []
      const seqs: number[] = []
      const lost = { lostRuns: 'leave', agent: {}, proceed: async () => false, report } as const
      const batches = follow({ executions, store, clock, ref: REF, runId: 'r1', after, signal, lookMs: 100, ...lost })
      for await (const batch of batches) {
        for (const { seq, event } of batch as readonly Logged[]) {
          seqs.push(seq)
          events.push(event)
        }
      }
      expect(seqs).toEqual(seqs.map((_, i) => after + i + 1))
      return events
    },
  }
}

async function* said(...events: readonly AgUiEvent[]): AsyncGenerator<AgUiEvent> {
  yield* events
}

describe('a run and its log', () => {
  it('a follower that falls far behind reads the log, and loses nothing', async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => custom(i))
    const barrier = Promise.withResolvers<void>()
    const { start, read, store } = stage(async function* () {
      yield STARTED
      yield* many.slice(0, 9_000)
      await barrier.promise
      yield* many.slice(9_000)
      yield FINISHED
    })
    const run = await start()
    await expect.poll(() => run.log.tail.last).toBe(9_001)
    expect(run.log.tail.since(0)).toBeUndefined()
    let reads = 0
    const { follow: look } = store.runLog
    store.runLog.follow = (...args) => {
      reads++
      return look(...args)
    }
    const all = read()
    await expect.poll(() => reads).toBeGreaterThan(0)
    barrier.resolve()
    expect((await all).slice(1, -1)).toEqual(many)
  })

  it('a follower that keeps up never reads the log', async () => {
    const { start, read, store } = stage(async function* () {
      yield STARTED
      for (let i = 0; i < 5_000; i++) yield custom(i)
      yield FINISHED
    })
    store.runLog.follow = () => {
      throw new Error('the log was asked')
    }
    await start()
    expect(await read()).toHaveLength(5_002)
  })

  it('takes events at the pace of the log', async () => {
    let given = 0
    let release = () => {}
    const { start, store } = stage(async function* () {
      yield STARTED
      for (; given < 100_000; given++) yield custom(given)
      yield FINISHED
    })
    const { append } = store.runLog
    store.runLog.append = async (...args) => {
      // The second batch waits.
      if (args[2] > 0) await new Promise<void>((resolve) => (release = resolve))
      return append(...args)
    }
    await start()
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve))
    expect(given).toBeLessThan(2_000)
    release()
  })

  it('a batch is written once, also if the answer of the store was lost', async () => {
    const clock = fakeClock(0)
    const { start, read, store } = stage(() => said(STARTED, custom({ b: 1, a: 2 }), FINISHED), { clock })
    const { append } = store.runLog
    let lose = 2
    store.runLog.append = async (...args) => {
      const last = await append(...args)
      if (args[2] > 0 && lose-- > 0) throw new KernelError('STORE_UNAVAILABLE', 'gone', { retryable: true })
      return last
    }
    await start()
    const reading = read()
    for (let i = 0; i < 50; i++) {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(1_000)
    }
    expect(await reading).toHaveLength(3)
    expect(lose).toBeLessThan(2)
  })

  it('a store that stays unavailable stops the run, and followers get the error', async () => {
    const clock = fakeClock(0)
    let aborted: unknown
    const { start, read, store, reported, executions } = stage(
      async function* (signal) {
        yield STARTED
        signal.addEventListener('abort', () => {
          aborted = signal.reason
        })
        for (let i = 0; !signal.aborted; i++) {
          yield custom(i)
          await new Promise((resolve) => setImmediate(resolve))
        }
      },
      { clock },
    )
    const { append } = store.runLog
    store.runLog.append = async (...args) => {
      if (args[2] > 0 && !args[4]) throw new KernelError('STORE_FAILED', 'disk')
      return append(...args)
    }
    const run = await start()
    await run.ended
    expect(aborted).toMatchObject({ code: 'RUN_LOG_FAILED' })
    expect(reported).toMatchObject([{ code: 'RUN_LOG_FAILED', cause: { code: 'STORE_FAILED' } }])
    expect((await read()).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'RUN_LOG_FAILED' })
    expect(executions.size).toBe(0)
  })

  it('a run whose process is gone is ended by its followers, once', async () => {
    const clock = fakeClock(0)
    const { read, store } = stage(() => said(), { clock })
    await store.threads.open(REF)
    const { token } = await store.leases.acquire(REF, { runId: 'r1', ttlMs: 1_000_000 })
    await store.runLog.append(REF, 'r1', 0, [STARTED as unknown as Json])
    const followers = [read(), read(1)]
    const wait = async (ms: number) => {
      for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
      clock.advance(ms)
    }
    for (let i = 0; i < 5; i++) await wait(100)
    const quiet = await Promise.race([followers[0], new Promise((resolve) => setImmediate(() => resolve('waits')))])
    expect(quiet).toBe('waits')
    await store.leases.release(REF, token)
    for (let i = 0; i < 5; i++) await wait(100)
    const [first, second] = await Promise.all(followers)
    expect(first?.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR'])
    expect(second).toMatchObject([{ type: 'RUN_ERROR', code: 'RUN_LOST' }])
  })

  it('the terminal is shown when the agent has released its thread, or takes too long to', async () => {
    const clock = fakeClock(0)
    const barrier = Promise.withResolvers<void>()
    const { start, executions } = stage(
      async function* () {
        yield STARTED
        try {
          yield FINISHED
        } finally {
          await barrier.promise
        }
      },
      { clock },
    )
    const run = await start()
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
    expect(run.log.tail.closed).toBe(false)
    clock.advance(2_000)
    await expect.poll(() => run.log.tail.closed).toBe(true)
    expect(run.log.tail.last).toBe(2)
    expect(executions.size).toBe(1)
    barrier.resolve()
    await run.ended
    expect(executions.size).toBe(0)
  })

  it('a deleted thread ends its run and its followers', async () => {
    const { start, read, store } = stage(async function* (signal) {
      yield STARTED
      for (let i = 0; !signal.aborted; i++) {
        yield custom(i)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    const run = await start()
    const reading = read().catch((error: unknown) => error)
    await store.threads.delete(REF)
    await run.ended
    expect(await reading).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('a follower that leaves while nothing comes ends at once', async () => {
    const { start, read } = stage(async function* (signal) {
      yield STARTED
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      yield FINISHED
    })
    const run = await start()
    const controller = new AbortController()
    const reading = read(0, controller.signal)
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    expect(await reading).toHaveLength(1)
    run.stop()
    await run.ended
  })

  it('events of a producer that does not wait stay in order', async () => {
    const agent: Partial<ServedAgent> = {
      run: () =>
        stream(async (sink) => {
          const writes = [STARTED, custom(1), custom(2), FINISHED].map((event) => sink.write(event))
          await Promise.all(writes)
        }),
    }
    const { start, read } = stage(() => said(), { agent })
    await start()
    expect(await read()).toMatchObject([{ type: 'RUN_STARTED' }, { value: 1 }, { value: 2 }, { type: 'RUN_FINISHED' }])
  })

  it('a run that begins while the server stops is cancelled too', async () => {
    const barrier = Promise.withResolvers<void>()
    const clock = fakeClock(0)
    const { executions, start, read } = stage(
      async function* (signal) {
        await barrier.promise
        yield STARTED
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        yield FINISHED
      },
      { clock },
    )
    const starting = start()
    const stopped = executions.stopAll(100)
    clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
    barrier.resolve()
    await starting
    await stopped
    expect(executions.size).toBe(0)
    expect(await read()).toHaveLength(2)
  })
})

describe('a store that answers later than memory', () => {
  const macrotasks = async (count: number) => {
    for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
  }
  /** Records the sizes of the batches; the agent writes one event per macrotask, then waits for the barrier. */
  async function slowly(count: number, atOnce = false) {
    const clock = fakeClock(0)
    const store = memoryStore()
    await store.threads.open(REF)
    const batches: number[] = []
    const { append } = store.runLog
    store.runLog.append = async (...args) => {
      await macrotasks(1)
      batches.push(args[3].length)
      return append(...args)
    }
    const barrier = Promise.withResolvers<void>()
    const world = stage(
      async function* () {
        yield STARTED
        for (let i = 0; i < count; i++) {
          yield custom(i)
          if (!atOnce) await macrotasks(1)
        }
        await barrier.promise
        yield FINISHED
      },
      { store, clock },
    )
    const run = await world.start()
    await macrotasks(count + 5)
    return { ...world, clock, batches, run, barrier }
  }

  it('gets what comes until the next beat as one batch, and nobody sees it before', async () => {
    const { clock, batches, run, barrier, read } = await slowly(20)
    expect(batches).toEqual([1, 1])
    clock.advance(19)
    await macrotasks(3)
    expect([batches, run.log.tail.last]).toEqual([[1, 1], 2])
    clock.advance(1)
    await macrotasks(3)
    expect([batches, run.log.tail.last]).toEqual([[1, 1, 19], 21])
    barrier.resolve()
    await run.ended
    expect([await read(), clock.pending]).toMatchObject([{ length: 22 }, 0])
  })

  it('gets the end of a run without a pause', async () => {
    const { clock, batches, run, barrier } = await slowly(20)
    barrier.resolve()
    await run.ended
    expect([batches, clock.pending]).toEqual([[1, 1, 20], 0])
  })

  it('gets a burst in full batches without a pause', async () => {
    const { clock, batches, run, barrier, read } = await slowly(5_000, true)
    barrier.resolve()
    await run.ended
    expect([await read(), clock.pending]).toMatchObject([{ length: 5_002 }, 0])
    expect(batches.slice(0, 11)).toEqual([1, 1, ...Array.from({ length: 9 }, () => 512)])
  })
})

describe('a database server that was killed', () => {
  /** A run whose store loses all but the first events of its log; `wrong` is what somebody else has written there meanwhile. */
  async function losing(keeps: number, ...wrong: readonly AgUiEvent[]) {
    const before = memoryStore()
    const after = memoryStore()
    await before.threads.open(REF)
    await after.threads.open(REF)
    let { runLog } = before
    const store: FullStore = {
      ...before,
      runLog: {
        append: (...args) => runLog.append(...args),
        follow: (...args) => runLog.follow(...args),
        compact: (...args) => runLog.compact(...args),
        prune: (...args) => runLog.prune(...args),
      },
    }
    const barrier = Promise.withResolvers<void>()
    const world = stage(
      async function* () {
        yield* said(STARTED, custom(1), custom(2), custom(3))
        await barrier.promise
        yield* said(custom(4), FINISHED)
      },
      { store },
    )
    const run = await world.start()
    while (run.log.tail.last < 4) await new Promise((resolve) => setImmediate(resolve))
    const { signal } = new AbortController()
    const batches = await Array.fromAsync(before.runLog.follow(REF, 'r1', { live: false, signal }))
    const written = batches.flat().map(({ event }) => event)
    const there = [...written.slice(0, keeps), ...(wrong as unknown as Json[])]
    if (there.length > 0) await after.runLog.append(REF, 'r1', 0, there)
    runLog = after.runLog
    barrier.resolve()
    await run.ended
    return world
  }

  it('gets the events again that it has lost', async () => {
    for (const keeps of [0, 1, 3, 4]) {
      const { read, reported } = await losing(keeps)
      expect([await read(), reported]).toMatchObject([
        [STARTED, custom(1), custom(2), custom(3), custom(4), FINISHED],
        [],
      ])
    }
  })

  it('does not get them if another process has written there', async () => {
    const { reported } = await losing(2, custom('other'))
    expect(reported).toMatchObject([{ code: 'RUN_LOG_FAILED' }])
  })
})

it('a follower that keeps up does not read a large event from the log', async () => {
  const large = custom('x'.repeat(1_000_000))
  const store = memoryStore()
  await store.threads.open(REF)
  let reads = 0
  const { follow: readLog } = store.runLog
  store.runLog.follow = (...args) => {
    reads++
    return readLog(...args)
  }
  const { start, read } = stage(() => said(STARTED, custom(1), large, custom(2), FINISHED), { store })
  const run = await start()
  expect(await read()).toHaveLength(5)
  await run.ended
  expect(reads).toBe(0)
})
