import { EventType } from '@ag-ui/core'
import type { Json, Message, Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { expect, it } from 'vitest'
import { closeLost } from './close-lost.ts'
import { loggedEvents } from './logged-events.ts'

const REF = { app: 'demo', user: 'ann', threadId: 't1' }
const SEEN: readonly Json[] = [
  { type: EventType.RUN_STARTED, threadId: 't1', runId: 'lost' },
  ...Array.from({ length: 9 }, (_, i): Json => ({ type: EventType.CUSTOM, name: 'n', value: i })),
]

/** A run that broke off after ten events, in a thread of 200 messages, on a store that counts what is read. */
async function broken(last?: Message) {
  const inner = memoryStore()
  const read = { messages: 0, events: 0 }
  await inner.threads.open(REF)
  const { token } = await inner.leases.acquire(REF, { runId: 'before', ttlMs: 60_000 })
  const messages = Array.from({ length: 200 }, (_, i) => ({
    runId: 'before',
    message: { id: `m${i}`, role: 'user', content: 'x' } as Message,
  }))
  await inner.threads.commit(
    REF,
    { messages: [...messages, ...(last ? [{ runId: 'lost', message: last }] : [])] },
    token,
  )
  await inner.leases.release(REF, token)
  await inner.runLog.append(REF, 'lost', 0, SEEN)
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
  const log = { store, ref: REF, runId: 'lost', after: SEEN.length, hidden: () => false }
  const types = async () => (await loggedEvents(inner.runLog, REF, 'lost')).slice(SEEN.length).map(({ type }) => type)
  return { read, log, types, store: inner }
}

const ANSWER: Message = { id: 'a1', role: 'assistant', content: 'Yes.' }

it('twenty followers at the end of a lost log read its thread once, and close it once', async () => {
  const { read, log, types } = await broken(ANSWER)
  const rests = await Promise.all(Array.from({ length: 20 }, () => closeLost(log)))
  expect(rests.every((rest) => rest === undefined)).toBe(true)
  expect((await types()).at(-1)).toBe(EventType.RUN_FINISHED)
  // The last message tells that the end is there, then the thread and the log are read.
  expect(read).toEqual({ messages: 20 + 201, events: 1 + SEEN.length })
})

it('a thread that does not tell how the run ended is not kept, and its log is not read', async () => {
  const { read, log, types } = await broken()
  await closeLost(log)
  expect(await types()).toEqual([EventType.RUN_ERROR])
  expect(read).toEqual({ messages: 200, events: 1 })
})

it('a log that has grown is left alone', async () => {
  const { read, log, types, store } = await broken(ANSWER)
  await store.runLog.append(REF, 'lost', SEEN.length, [{ type: EventType.CUSTOM, name: 'n', value: 9 }])
  expect(await closeLost(log)).toBeUndefined()
  expect(await types()).toEqual([EventType.CUSTOM])
  expect(read).toEqual({ messages: 0, events: 2 })
})
