import type { Message, Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { expect, test } from 'vitest'
import { type History, historyText } from './history.ts'

const ref = { app: 'app', user: 'ann', threadId: 't' }
const RUNS = ['r1', 'r2', 'r3']

/** A conversation of three runs, and the logs that are read. */
async function conversation() {
  const store = memoryStore()
  const read: string[] = []
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: 'r', ttlMs: 60_000 })
  for (const runId of RUNS) {
    const asked: Message = { id: `u-${runId}`, role: 'user', content: `Ask ${runId}` }
    await store.threads.commit(ref, { messages: [{ runId, message: asked }] }, token)
    await store.runLog.append(ref, runId, 0, [{ type: 'RUN_STARTED', threadId: 't', runId }], true)
  }
  const watched: Store = {
    ...store,
    runLog: {
      ...store.runLog,
      follow(of, runId, options) {
        read.push(runId)
        return store.runLog.follow(of, runId, options)
      },
    },
  }
  return { store: watched, read }
}

test('a conversation is read run by run, when its reader asks for the next one', async () => {
  const { store, read } = await conversation()
  const pieces = historyText(store, ref, 'r3')
  let text = (await pieces.next()).value ?? ''
  expect(read).toEqual(['r1'])
  for await (const piece of pieces) text += piece
  expect(read).toEqual(['r1', 'r2'])
  const { running, runs } = JSON.parse(text) as History
  expect(running).toBe('r3')
  expect(runs.map(({ runId, userMessages, events }) => [runId, userMessages[0]?.text, events.length])).toEqual([
    ['r1', 'Ask r1', 1],
    ['r2', 'Ask r2', 1],
    ['r3', 'Ask r3', 0],
  ])
})

test('a conversation without runs is empty', async () => {
  const pieces: string[] = []
  for await (const piece of historyText(memoryStore(), ref, undefined)) pieces.push(piece)
  expect(JSON.parse(pieces.join(''))).toEqual({ runs: [] })
})
