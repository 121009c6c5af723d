import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KernelError } from '../data/kernel-error.ts'
import type { ThreadRef } from '../data/thread-ref.ts'
import { memoryStore } from '../memory-store.ts'
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
        let now = 0
        const { threads, leases } = memoryStore({ clock: { now: () => now } })
        await threads.open(ref)
        const tokens = [0, 0, 0]
        let [current, given, expiresAt, version] = [0, 0, 0, 0]
        const outcomes: Promise<[unknown, unknown]>[] = []
        // Nothing is awaited in between: all calls of a case are under way at once.
        const expectOutcome = (call: Promise<unknown>, code: string | undefined) =>
          outcomes.push(call.then(() => undefined, codeOf).then((got) => [got, code]))
        for (const [writer, action] of order) {
          const token = tokens[writer] ?? 0
          const held = token !== 0 && token === current
          if (action === 'wait') now += 6
          if (action === 'acquire') {
            const busy = current !== 0 && expiresAt > now
            expectOutcome(leases.acquire(ref, { runId: `run-${writer}`, ttlMs: 10 }), busy ? 'THREAD_BUSY' : undefined)
            if (!busy) [tokens[writer], current, expiresAt] = [++given, given, now + 10]
          }
          if (action === 'commit') {
            expectOutcome(
              threads.commit(ref, { messages: [message(`m${version}`)] }, token),
              held ? undefined : 'LEASE_LOST',
            )
            if (held) version++
          }
          if (action === 'renew') {
            expectOutcome(leases.renew(ref, token, 10), held ? undefined : 'LEASE_LOST')
            if (held) expiresAt = now + 10
          }
          if (action === 'release') {
            expectOutcome(leases.release(ref, token), undefined)
            if (held) current = 0
          }
        }
        for (const [got, expected] of await Promise.all(outcomes)) expect(got).toBe(expected)
        expect((await threads.get(ref))?.version).toBe(version)
        expect((await threads.messages(ref)).map(({ seq }) => seq)).toEqual(upTo(version))
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
        for (const step of steps) {
          if ('follower' in step) {
            const next = logs[step.follower]?.next()
            if (next) reads[step.follower]?.push(next)
          } else {
            writes.push(runLog.append(ref, 'run-1', last, upTo(step.count)))
            last += step.count
          }
          // Lets a waiting follower run now and then, not always.
          if (last % 2) await Promise.resolve()
        }
        writes.push(runLog.append(ref, 'run-1', last, [], true))
        await Promise.all(writes)
        for (const [i, log] of logs.entries()) {
          const results = await Promise.all(reads[i] ?? [])
          for (let more = await log.next(); !more.done; more = await log.next()) results.push(more)
          const batches = results.flatMap(({ done, value }) => (done ? [] : [value]))
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
    const data: MemoryData = { now: () => 0, owners: new Map(), token: 0 }
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
