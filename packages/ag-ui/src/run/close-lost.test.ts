import { EventType } from '@ag-ui/core'
import type { Json, KernelError, Message, Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { expect, it } from 'vitest'
import { readRunLog } from '../log/read-run-log.ts'
import type { AgUiEvent } from '../protocol.ts'
import { closeLost } from './close-lost.ts'
import { Executions } from './executions.ts'
import { loggedEvents } from './logged-events.ts'

const REF = { app: 'demo', user: 'ann', threadId: 't1' }
const SEEN: readonly Json[] = [
  { type: EventType.RUN_STARTED, threadId: 't1', runId: 'lost' },
  ...Array.from({ length: 9 }, (_, i): Json => ({ type: EventType.CUSTOM, name: 'n', value: i })),
]

const START: Json = { type: EventType.TEXT_MESSAGE_START, messageId: 'm', role: 'assistant' }
const WORD = { type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'm', delta: 'word ' }

/** A run that broke off after ten events, in a thread of 200 messages, on a store that counts what is read. */
async function broken(last?: Message, { text = 'x', logged = SEEN }: { text?: string; logged?: readonly Json[] } = {}) {
  const inner = memoryStore()
  const read = { messages: 0, events: 0 }
  await inner.threads.open(REF)
  const { token } = await inner.leases.acquire(REF, { runId: 'before', ttlMs: 60_000 })
  const messages = Array.from({ length: 200 }, (_, i) => ({
    runId: 'before',
    message: { id: `m${i}`, role: 'user', content: text } as Message,
  }))
  await inner.threads.commit(
    REF,
    { messages: [...messages, ...(last ? [{ runId: 'lost', message: last }] : [])] },
    token,
  )
  await inner.leases.release(REF, token)
  await inner.runLog.append(REF, 'lost', 0, logged)
  const store: Store = {
    ...inner,
    threads: {
      ...inner.threads,
      async messages(ref, page) {
        const rows = await inner.threads.messages(ref, page)
        read.messages += rows.length
        return rows
      },
    },
    runLog: {
      ...inner.runLog,
      async *follow(ref, runId, options) {
        for await (const batch of inner.runLog.follow(ref, runId, options)) {
          read.events += batch.length
          yield batch
        }
      },
    },
  }
  const executions = new Executions(fakeClock(0))
  const report = (error: KernelError) => expect.unreachable(error.message)
  const log = { executions, store, ref: REF, runId: 'lost', after: logged.length, agent: {}, report }
  const types = async () => (await loggedEvents(inner.runLog, REF, 'lost')).slice(logged.length).map(({ type }) => type)
  return { read, log, types, store: inner }
}

const ANSWER: Message = { id: 'a1', role: 'assistant', content: 'Yes.' }

it('twenty followers at the end of a lost log read its thread once, and close it once', async () => {
  const { read, log, types } = await broken(ANSWER)
  const rests = await Promise.all(Array.from({ length: 20 }, () => closeLost(log)))
  expect(rests.every((rest) => rest === undefined)).toBe(true)
  expect((await types()).at(-1)).toBe(EventType.RUN_FINISHED)
  await log.executions.stopAll(0)
  // The last message tells that the end is there, then the thread and the log are read; when it is closed, the log is read to compact it.
  expect(read).toEqual({ messages: 4 + 4 + 201, events: 1 + SEEN.length + (await types()).length + SEEN.length })
})

it('a thread that does not tell how the run ended is not kept, and its log is read only to compact it', async () => {
  const { read, log, types } = await broken()
  await closeLost(log)
  expect(await types()).toEqual([EventType.RUN_ERROR])
  await log.executions.stopAll(0)
  expect(read).toEqual({ messages: 200, events: 1 + SEEN.length + 1 })
})

it('a log that has grown is left alone', async () => {
  const { read, log, types, store } = await broken(ANSWER)
  await store.runLog.append(REF, 'lost', SEEN.length, [{ type: EventType.CUSTOM, name: 'n', value: 9 }])
  expect(await closeLost(log)).toBeUndefined()
  expect(await types()).toEqual([EventType.CUSTOM])
  expect(read).toEqual({ messages: 0, events: 2 })
})

it('a lost log is compacted when it is closed, once, and stopping waits for that', async () => {
  const { log, store } = await broken()
  const words = Array.from({ length: 200 }, (): Json => ({ ...WORD }))
  await store.runLog.append(REF, 'lost', SEEN.length, [START, ...words])
  const after = SEEN.length + 1 + words.length
  await Promise.all([closeLost({ ...log, after }), closeLost({ ...log, after })])
  await log.executions.stopAll(0)
  const { signal } = new AbortController()
  const entries = (await Array.fromAsync(store.runLog.follow(REF, 'lost', { signal }))).flat()
  expect(entries.map(({ seq }) => seq)).toEqual([after + 1])
  const rest: AgUiEvent[] = []
  for await (const batch of readRunLog(store.runLog, REF, 'lost', { after: after - 10, signal })) {
    for (const { event } of batch) rest.push(event)
  }
  expect(rest).toEqual([{ ...WORD, delta: 'word '.repeat(10) }, expect.objectContaining({ type: EventType.RUN_ERROR })])
})

it('of a long thread only the run is kept: its end is added without a snapshot of the thread', async () => {
  const { read, log, types } = await broken(ANSWER, { text: 'x'.repeat(20_000) })
  await closeLost(log)
  expect((await types()).slice(-1)).toEqual([EventType.RUN_FINISHED])
  await log.executions.stopAll(0)
  // Four million characters, of which one million is read.
  expect(read.messages).toBeLessThan(4 + 4 + 70)
})

it('a run that says more than is kept ends as lost, and its thread is not read again', async () => {
  const { read, log, types } = await broken({ ...ANSWER, content: 'x'.repeat(1_000_001) })
  await closeLost(log)
  expect(await types()).toEqual([EventType.RUN_ERROR])
  expect(read.messages).toBeLessThan(20)
})

it('a log that is longer than what is kept ends as lost', async () => {
  const long = Array.from(
    { length: 12 },
    (): Json => ({ type: EventType.CUSTOM, name: 'n', value: 'x'.repeat(100_000) }),
  )
  const { log, types } = await broken(ANSWER, { logged: [SEEN[0] as Json, ...long] })
  await closeLost(log)
  expect(await types()).toEqual([EventType.RUN_ERROR])
})
