import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KernelError } from '../data/kernel-error.ts'
import type { ThreadRef } from '../data/thread-ref.ts'
import { memoryStore } from '../memory-store.ts'
import type { Store } from '../store/store.ts'
import type { MemoryData } from './memory-data.ts'
import { memoryRunLog } from './memory-run-log.ts'
import { memoryThreads } from './memory-threads.ts'

const ref: ThreadRef = { app: 'app', user: 'anna', threadId: 'thread-1' }
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
const message = (id: string) => ({ runId: 'run-1', message: { id, role: 'user', content: id } as const })

describe('memoryStore', () => {
  it('keeps messages gapless and in commit order, each once, however commits interleave', async () => {
    const commits = fc.array(fc.array(fc.nat({ max: 20 }), { maxLength: 5 }), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(commits, async (batches) => {
        const { threads, leases } = memoryStore()
        await threads.open(ref)
        const { token } = await leases.acquire(ref, { runId: 'run-1', ttlMs: 1000 })
        const committed = await Promise.all(
          batches.map((ids) => threads.commit(ref, { messages: ids.map((id) => message(`m${id}`)) }, token)),
        )
        const messages = await threads.messages(ref, { limit: 1000 })
        expect(committed.map(({ version }) => version)).toEqual(upTo(batches.length))
        expect(messages.map(({ message }) => message.id)).toEqual([...new Set(batches.flat())].map((id) => `m${id}`))
        expect(messages.map(({ seq }) => seq)).toEqual(upTo(messages.length))
      }),
    )
  })

  it('lets only the last to get the lease commit, however writers and time interleave', async () => {
    const actions = fc.constantFrom('acquire', 'commit', 'renew', 'release', 'wait')
    const steps = fc.array(fc.tuple(fc.nat({ max: 2 }), actions), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(steps, async (order) => {
        const writers = new Writers()
        await writers.store.threads.open(ref)
        // Nothing is awaited in between: all calls of a case are under way at once.
        const outcomes = order.map(async ([writer, action]) => {
          const { call, code } = writers[action](writer)
          return [await call.then(() => undefined, codeOf), code]
        })
        for (const [got, code] of await Promise.all(outcomes)) expect(got).toBe(code)
        expect((await writers.store.threads.get(ref))?.version).toBe(writers.version)
        expect((await writers.store.threads.messages(ref)).map(({ seq }) => seq)).toEqual(upTo(writers.version))
      }),
    )
  })

  it('shows every follower the whole log in order, however appends and reads interleave', async () => {
    const read = fc.record({ follower: fc.nat({ max: 2 }) })
    const write = fc.record({ count: fc.nat({ max: 3 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(read, write), { maxLength: 60 }), async (steps) => {
        const { threads, runLog } = memoryStore()
        const { signal } = new AbortController()
        await threads.open(ref)
        await runLog.append(ref, 'run-1', 0, [])
        const logs = upTo(3).map(() => runLog.follow(ref, 'run-1', { signal })[Symbol.asyncIterator]())
        const reads = logs.map((log) => [log.next()])
        const writes: Promise<number>[] = []
        let last = 0
        const append = (count: number, close = false) => {
          writes.push(runLog.append(ref, 'run-1', last, upTo(count), close))
          last += count
        }
        const readOf = (follower: number) => reads[follower]?.push((logs[follower] as (typeof logs)[number]).next())
        for (const step of steps) {
          if ('follower' in step) readOf(step.follower)
          else append(step.count)
          // Lets a waiting follower run now and then, not always.
          if (last % 2) await Promise.resolve()
        }
        append(0, true)
        await Promise.all(writes)
        for (const [i, log] of logs.entries()) {
          const batches = [...batchesOf(await Promise.all(reads[i] ?? [])), ...(await rest(log))]
          expect(batches.flat().map(({ seq }) => seq)).toEqual(upTo(last))
          expect(batches.every(({ length }) => length > 0)).toBe(true)
        }
      }),
    )
  })

  it('says who, what and which value when a name is wrong', async () => {
    const { threads } = memoryStore()
    for (const name of ['app', 'user', 'threadId']) {
      await expect(threads.get({ ...ref, [name]: '' })).rejects.toThrow(
        `memoryStore: expected a non-empty ${name}, got ""`,
      )
    }
  })

  it('uses the system clock by default', async () => {
    const before = Date.now()
    const { updatedAt } = await memoryStore().threads.open(ref)
    expect(updatedAt).toBeGreaterThanOrEqual(before)
    expect(updatedAt).toBeLessThanOrEqual(Date.now())
  })

  it('keeps nothing of readers that came and went', async () => {
    const data: MemoryData = { now: () => 0, owners: new Map(), token: 0, grant: 0, closed: false }
    const [threads, log] = [memoryThreads(data), memoryRunLog(data)]
    await threads.get(ref)
    await threads.list(ref)
    expect(data.owners.size).toBe(0)
    await threads.open(ref)
    await log.append(ref, 'run-1', 0, [])
    const [owner] = data.owners.values()
    const waiting = owner?.threads.get('thread-1')?.logs.get('run-1')?.waiting
    const abort = new AbortController()
    const left = log.follow(ref, 'run-1', { signal: abort.signal })[Symbol.asyncIterator]()
    const stayed = log.follow(ref, 'run-1', { signal: new AbortController().signal })[Symbol.asyncIterator]()
    const parked = [left.next(), stayed.next()]
    expect(waiting?.size).toBe(2)
    abort.abort()
    expect(waiting?.size).toBe(1)
    await log.append(ref, 'run-1', 0, ['a'])
    await Promise.all(parked)
    expect(waiting?.size).toBe(0)
  })
})

function codeOf(error: unknown): unknown {
  return KernelError.from(error).code
}

function batchesOf<T>(results: readonly IteratorResult<T>[]): T[] {
  return results.flatMap(({ done, value }) => (done ? [] : [value]))
}

async function rest<T>(log: AsyncIterator<T>): Promise<T[]> {
  return Array.fromAsync({ [Symbol.asyncIterator]: () => log })
}

/** A call, and the code of the error that it should fail with, if it should. */
interface Expected {
  readonly call: Promise<unknown>
  readonly code: string | undefined
}

/** Three writers of one thread, with a model of who holds the lease. */
class Writers {
  #now = 0
  readonly store: Store = memoryStore({ clock: { now: () => this.#now } })
  readonly #tokens = [0, 0, 0]
  #current = 0
  #given = 0
  #expiresAt = 0
  version = 0

  acquire(writer: number): Expected {
    const call = this.store.leases.acquire(ref, { runId: `run-${writer}`, ttlMs: 10 })
    if (this.#current !== 0 && this.#expiresAt > this.#now) return { call, code: 'THREAD_BUSY' }
    this.#current = ++this.#given
    this.#tokens[writer] = this.#given
    this.#expiresAt = this.#now + 10
    return { call, code: undefined }
  }

  commit(writer: number): Expected {
    const call = this.store.threads.commit(ref, { messages: [message(`m${this.version}`)] }, this.#token(writer))
    if (!this.#holds(writer)) return { call, code: 'LEASE_LOST' }
    this.version++
    return { call, code: undefined }
  }

  renew(writer: number): Expected {
    const call = this.store.leases.renew(ref, this.#token(writer), 10)
    if (!this.#holds(writer)) return { call, code: 'LEASE_LOST' }
    this.#expiresAt = this.#now + 10
    return { call, code: undefined }
  }

  release(writer: number): Expected {
    const call = this.store.leases.release(ref, this.#token(writer))
    if (this.#holds(writer)) this.#current = 0
    return { call, code: undefined }
  }

  wait(): Expected {
    this.#now += 6
    return { call: Promise.resolve(), code: undefined }
  }

  #token(writer: number): number {
    return this.#tokens[writer] ?? 0
  }

  #holds(writer: number): boolean {
    return this.#token(writer) !== 0 && this.#token(writer) === this.#current
  }
}
