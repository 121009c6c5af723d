import type { Message, Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { loadHistory, streamHistory } from './load-history.ts'
import { ANN } from './persistence.fixture.ts'

const user = (id: string): Message => ({ id, role: 'user', content: id })
const assistant = (id: string, ...calls: readonly string[]): Message => ({
  id,
  role: 'assistant',
  content: id,
  ...(calls.length > 0 && { toolCalls: calls.map((call) => ({ id: call, name: 'look', arguments: '{}' })) }),
})
const result = (callId: string): Message => ({
  id: `${callId}-result`,
  role: 'tool',
  callId,
  name: 'look',
  content: 'ok',
})

async function threadOf(messages: readonly Message[], open: readonly string[] = []) {
  const inner = memoryStore()
  const { token } = await inner.leases.acquire(ANN, { runId: 'r', ttlMs: 1_000 })
  await inner.threads.open(ANN)
  const openCalls = open.map((callId) => ({ callId, name: 'look', agentName: 'agent' }))
  await inner.threads.commit(ANN, { messages: messages.map((message) => ({ runId: 'r', message })), openCalls }, token)
  const pages: number[] = []
  const threads: Store['threads'] = {
    ...inner.threads,
    async messages(ref, page) {
      const rows = await inner.threads.messages(ref, page)
      pages.push(rows.length)
      return rows
    },
  }
  return { store: { threads }, pages }
}

const ids = (messages: readonly Message[]) => messages.map(({ id }) => id)
async function streamed(store: Pick<Store, 'threads'>, pageSize: number): Promise<readonly Message[]> {
  const messages: Message[] = []
  for await (const message of streamHistory(store, ANN, { pageSize })) messages.push(message)
  return messages
}

describe('loadHistory', () => {
  it('gives the messages in order, whatever the size of the pages', async () => {
    const messages = Array.from({ length: 25 }, (_, i) => (i % 2 ? assistant(`a${i}`) : user(`u${i}`)))
    const { store } = await threadOf(messages)
    for (const pageSize of [1, 7, 25, 1_000]) {
      expect(await loadHistory(store, ANN, { pageSize })).toEqual(messages)
      expect(await streamed(store, pageSize)).toEqual(messages)
    }
  })

  it('pairs each call with one result, in the order of the calls, and marks those that are not known', async () => {
    const broken = [
      user('u1'),
      assistant('a1', 'c1', 'c2', 'c3'),
      result('c2'),
      result('c1'),
      user('u2'),
      result('stranger'),
      assistant('a2'),
    ]
    const { store } = await threadOf(broken)
    const expected = ['u1', 'a1', 'c1-result', 'c2-result', 'c3#unknown', 'u2', 'a2']
    expect(ids(await loadHistory(store, ANN))).toEqual(expected)
    for (const pageSize of [1, 2, 3, 100]) expect(ids(await streamed(store, pageSize))).toEqual(expected)
  })

  it('pairs calls of agents that ran at the same time', async () => {
    const { store } = await threadOf([
      user('u'),
      assistant('x', 'cx'),
      assistant('y', 'cy'),
      result('cy'),
      result('cx'),
      assistant('z'),
    ])
    const expected = ['u', 'x', 'cx-result', 'y', 'cy-result', 'z']
    expect(ids(await loadHistory(store, ANN))).toEqual(expected)
    expect(ids(await streamed(store, 1))).toEqual(expected)
  })

  it('leaves a call open that awaits an answer', async () => {
    const { store } = await threadOf([user('u'), assistant('a', 'c1', 'c2'), result('c1')], ['c2'])
    expect(ids(await loadHistory(store, ANN))).toEqual(['u', 'a', 'c1-result'])
    expect(ids(await streamed(store, 1))).toEqual(['u', 'a', 'c1-result'])
  })

  it('gives the latest alone, beginning with what was asked and not with a result', async () => {
    const messages = [
      user('u1'),
      assistant('a1'),
      user('u2'),
      assistant('a2', 'c1', 'c2'),
      result('c1'),
      result('c2'),
      assistant('a3'),
    ]
    const { store, pages } = await threadOf(messages)
    const last = async (count: number) => ids(await loadHistory(store, ANN, { last: count }))
    expect(await last(1)).toEqual(['a3'])
    expect(await last(2)).toEqual(['a2', 'c1-result', 'c2-result', 'a3'])
    expect(await last(5)).toEqual(['u2', 'a2', 'c1-result', 'c2-result', 'a3'])
    expect(await last(100)).toEqual(ids(messages))
    expect(Math.max(...pages)).toBeLessThanOrEqual(7)
  })

  it('a thread of 10,000 messages is never read whole', async () => {
    const messages = Array.from({ length: 2_500 }, (_, i) => [
      user(`u${i}`),
      assistant(`a${i}`, `c${i}`),
      result(`c${i}`),
      assistant(`b${i}`),
    ]).flat()
    const { store, pages } = await threadOf(messages)
    let count = 0
    for await (const { id } of streamHistory(store, ANN, { pageSize: 100 })) {
      expect(id).toBe(messages[count]?.id)
      // No more than a page is read ahead.
      expect(pages.reduce((sum, page) => sum + page, 0) - count).toBeLessThanOrEqual(104)
      count++
    }
    expect(count).toBe(10_000)
    expect(Math.max(...pages)).toBe(100)
  })

  it('an absent or foreign thread has no history, and nonsense is refused', async () => {
    const { store } = await threadOf([user('u')])
    expect(await loadHistory(store, { ...ANN, user: 'eve' })).toEqual([])
    await expect(loadHistory(store, ANN, { last: 0 })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(loadHistory(store, ANN, { pageSize: 2_000 })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})
