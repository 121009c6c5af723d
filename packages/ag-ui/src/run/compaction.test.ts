import { EventType } from '@ag-ui/core'
import { KernelError, type LogEntry } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import type { Logged } from '../log/logged.ts'
import type { AgUiEvent, RunAgentInput } from '../protocol.ts'
import type { ExecutionState } from './execution-state.ts'
import { Executions } from './executions.ts'
import { follow } from './follow.ts'
import type { RunLog } from './run-log.ts'
import { startServedRun } from './start-served-run.ts'

const OWNER = { app: 'demo', user: 'ann' }
const REF = { ...OWNER, threadId: 't1' }
const INPUT: RunAgentInput = { threadId: 't1', runId: 'r1', messages: [], tools: [], context: [] }
const { signal } = new AbortController()

async function* speech(words: number, word: (i: number) => string): AsyncGenerator<AgUiEvent> {
  yield { type: EventType.RUN_STARTED, threadId: 't1', runId: 'r1' }
  yield { type: EventType.TEXT_MESSAGE_START, messageId: 'm', role: 'assistant' }
  for (let i = 0; i < words; i++) yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'm', delta: word(i) }
  yield { type: EventType.TEXT_MESSAGE_END, messageId: 'm' }
  yield { type: EventType.RUN_FINISHED, threadId: 't1', runId: 'r1' }
}

function textOf(events: readonly Logged[]): string {
  return events.map(({ event }) => (event.type === EventType.TEXT_MESSAGE_CONTENT ? event.delta : '')).join('')
}

/** A server whose runs say so many words, on a store that counts what is read. */
function stage(words: number, word: (i: number) => string = (i) => `${i} `) {
  const clock = fakeClock(0)
  const store = memoryStore({ clock })
  const reported: KernelError[] = []
  const report = (error: KernelError) => void reported.push(error)
  const executions = new Executions(clock)
  const agent = { run: () => speech(words, word), cancel: async () => false }
  const server = { agent, executions, store, clock, detachedMs: 300_000, report }
  const reads = { count: 0 }
  const { follow: read } = store.runLog
  store.runLog.follow = (...args) => {
    reads.count++
    return read(...args)
  }
  const said = Array.from({ length: words }, (_, i) => word(i)).join('')
  return {
    store,
    clock,
    executions,
    reported,
    reads,
    said,
    async start() {
      const run = await startServedRun(server, INPUT, OWNER, { requestId: 'q1' })
      if ('message' in run) throw new Error(`${run.code}: ${run.message}`)
      return run as ExecutionState & { readonly log: RunLog }
    },
    entries: async (): Promise<readonly LogEntry[]> => (await Array.fromAsync(read(REF, 'r1', { signal }))).flat(),
    /** Follows the run, in this process or in another one. */
    following(after = 0, here = executions): AsyncGenerator<readonly Logged[], void> {
      const lost = { lostRuns: 'leave', agent: {}, proceed: async () => false, report } as const
      return follow({ executions: here, store, clock, ref: REF, runId: 'r1', after, signal, lookMs: 100, ...lost })
    },
  }
}

describe('the log of a run that has ended', () => {
  it('is compacted without reading it', async () => {
    const { start, entries, reads, said, following } = stage(3_000)
    await (await start()).tidied
    expect(reads.count).toBe(0)
    const all = await entries()
    expect(all.map(({ seq }) => seq)).toEqual([3_004])
    expect(JSON.stringify(all).length).toBeLessThan(said.length * 1.3)
    expect(textOf((await Array.fromAsync(following())).flat())).toBe(said)
  })

  it('is read and compacted if it is too long to be kept in memory', async () => {
    const { start, entries, reads, said, following } = stage(20_000, (i) => `${i} ${'x'.repeat(60)}`)
    await (await start()).tidied
    expect(reads.count).toBe(1)
    const all = await entries()
    expect(all.at(-1)?.seq).toBe(20_004)
    expect(all.length).toBeLessThan(100)
    expect(textOf((await Array.fromAsync(following())).flat())).toBe(said)
  })

  it('is compacted after its readers have their end, and stopping waits for that', async () => {
    const { start, store, following, executions, entries } = stage(500)
    const { compact } = store.runLog
    const barrier = Promise.withResolvers<void>()
    store.runLog.compact = async (...args) => {
      await barrier.promise
      return compact(...args)
    }
    const run = await start()
    const seen = (await Array.fromAsync(following())).flat()
    expect(seen.at(-1)?.event.type).toBe(EventType.RUN_FINISHED)
    await run.ended
    expect(executions.size).toBe(0)
    let stopped = false
    const stopping = executions.stopAll(1_000).then(() => {
      stopped = true
    })
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
    expect([stopped, (await entries()).length]).toEqual([false, 504])
    barrier.resolve()
    await stopping
    expect(await entries()).toHaveLength(1)
  })

  it('stays as it is if the store fails, which is reported', async () => {
    const { start, store, following, reported, said } = stage(500)
    store.runLog.compact = () => Promise.reject(new KernelError('STORE_FAILED', 'disk'))
    await (await start()).tidied
    expect(reported).toMatchObject([{ code: 'STORE_FAILED' }])
    expect(textOf((await Array.fromAsync(following())).flat())).toBe(said)
  })

  it.each(['this process', 'another process'])('is read on from any place by a slow follower in %s', async (where) => {
    const { start, following, said, executions, clock } = stage(9_000)
    const run = await start()
    const here = where === 'this process' ? executions : new Executions(clock)
    for (const after of [0, 1, 2, 3, 1_000]) {
      const follower = following(after, here)
      const { value } = await follower.next()
      const first = value as readonly Logged[]
      await run.tidied
      const seen = [...first, ...(await Array.fromAsync(follower)).flat()]
      const missed = Array.from({ length: Math.max(0, after - 2) }, (_, i) => `${i} `).join('')
      expect(missed + textOf(seen), `after ${after}`).toBe(said)
      expect(seen.at(-1)).toMatchObject({ seq: 9_004, event: { type: EventType.RUN_FINISHED } })
      expect(seen.map(({ seq }) => seq)).toEqual(seen.map(({ seq }) => seq).toSorted((a, b) => a - b))
    }
  })
})
