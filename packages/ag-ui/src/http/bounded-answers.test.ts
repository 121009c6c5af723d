import type { MessagesSnapshotEvent, RunStartedEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { Message, Page, Store, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import type { AgUiHandlerOptions } from './ag-ui-handler.ts'
import { ANN, aborted, framesOf, get, input, post, served, words } from './http.fixture.ts'

const REF: ThreadRef = { ...ANN, threadId: 't1' }
const MESSAGES = 200
const LENGTH = 50_000

/** A thread of 10 MB, on a store that says how many rows were read. */
async function large(limits: AgUiHandlerOptions['limits'] = {}) {
  const clock = fakeClock()
  const inner = memoryStore({ clock })
  const read = { messages: 0, threads: 0 }
  const store: Store = {
    ...inner,
    threads: {
      ...inner.threads,
      async messages(ref: ThreadRef, page?: Page) {
        const rows = await inner.threads.messages(ref, page)
        read.messages += rows.length
        return rows
      },
      async list(owner, page) {
        const rows = await inner.threads.list(owner, page)
        read.threads += rows.length
        return rows
      },
    },
  }
  const stage = served(
    async function* ({ runId }, { signal }) {
      yield* words(1)
      if (runId === 'live') await aborted(signal)
    },
    { store, clock, limits },
  )
  await store.threads.open(REF)
  const { token } = await store.leases.acquire(REF, { runId: 'old', ttlMs: 60_000 })
  const messages = Array.from({ length: MESSAGES }, (_, i): { runId: string; message: Message } => ({
    runId: 'old',
    message: { id: `m${i}`, role: i % 2 ? 'assistant' : 'user', content: `${i} ${'x'.repeat(LENGTH)}` },
  }))
  await store.threads.commit(REF, { messages }, token)
  await store.leases.release(REF, token)
  return { ...stage, store, clock, read }
}

const ids = Array.from({ length: MESSAGES }, (_, i) => `m${i}`)

/** Reads one chunk, and no more. */
async function firstChunk(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const { value } = await reader.read()
  return { reader, size: value?.length ?? 0 }
}

describe('a thread without a run', () => {
  const path = '/threads/t1/connect?protocolVersion=1.0'

  it('is joined with its whole history in one event', async () => {
    const { handler } = await large()
    const frames = await framesOf(await handler(get(path)))
    const snapshot = frames[2]?.event as MessagesSnapshotEvent | undefined
    expect(snapshot?.messages.map(({ id }) => id)).toEqual(ids)
  })

  it('is read no further than its readers have room for', async () => {
    const { handler, read } = await large()
    for (let i = 0; i < 20; i++) {
      const { size } = await firstChunk(await handler(get(path)))
      expect(size).toBeLessThan(3 * LENGTH)
    }
    expect(read.messages).toBeLessThan(20 * 16)
  })

  it('drops a reader that takes nothing', async () => {
    const { handler, clock } = await large({ drainMs: 1_000 })
    const { reader } = await firstChunk(await handler(get(path)))
    clock.advance(1_000)
    await expect(reader.read()).rejects.toMatchObject({ code: 'READER_STALLED' })
  })

  it('counts among the streams of its user until it is read or left', async () => {
    const { handler } = await large({ streamsPerUser: 1 })
    const { reader } = await firstChunk(await handler(get(path)))
    expect((await handler(get(path))).status).toBe(429)
    await reader.cancel()
    await framesOf(await handler(get(path)))
    expect((await handler(get(path))).status).toBe(200)
  })

  it('is not sent as one frame of protobuf if it is too long for that', async () => {
    const { handler, reported } = await large()
    const accept = 'application/vnd.ag-ui.event+proto'
    const response = await handler(get(path, { accept }))
    expect((await response.arrayBuffer()).byteLength).toBeLessThan(1_000)
    expect(reported).toMatchObject([{ code: 'ENCODING_ERROR' }])
  })
})

describe('a thread with a run', () => {
  const path = '/threads/t1/connect?protocolVersion=1.0'

  it('is read no further than its readers have room for, and then followed', async () => {
    const { handler, read } = await large()
    const live = await handler(post(input('live')))
    read.messages = 0
    const waiting = await handler(get(path))
    const slow = await firstChunk(await handler(get(path)))
    expect(slow.size).toBeLessThan(3 * LENGTH)
    expect(read.messages).toBeLessThan(16)
    await slow.reader.cancel()
    const cancel = { method: 'POST', headers: { authorization: 'ann' } }
    await handler(new Request('http://localhost/threads/t1/runs/live/cancel', cancel))
    const frames = await framesOf(waiting)
    expect(frames[0]).toMatchObject({ id: 'live:1', event: { type: EventType.RUN_STARTED } })
    const started = frames[0]?.event as RunStartedEvent | undefined
    expect(started?.input?.messages.map(({ id }) => id)).toEqual([...ids, 'u-live'])
    expect(frames.slice(1)).toEqual((await framesOf(live)).slice(1))
  })
})

describe('the messages of a thread', () => {
  it('come in pages of limited length, each once', async () => {
    const { handler, read } = await large()
    const found: string[] = []
    let next: number | undefined = 0
    for (let i = 0; i < 100 && next !== undefined; i++) {
      read.messages = 0
      const text: string = await (await handler(get(`/threads/t1/messages?limit=1000&after=${next}`))).text()
      expect(text.length).toBeLessThan(1_000_000 + 2 * LENGTH)
      expect(read.messages).toBeLessThan(64)
      const page = JSON.parse(text) as { messages: { id: string }[]; next?: number }
      found.push(...page.messages.map(({ id }) => id))
      next = page.next
    }
    expect(found).toEqual(ids)
  })

  it('have at least one message a page, however long', async () => {
    const { handler } = await large({ pageChars: 1 })
    const page = (await (await handler(get('/threads/t1/messages'))).json()) as { messages: { id: string }[] }
    expect(page.messages.map(({ id }) => id)).toEqual(['m0'])
  })

  it('drop a reader that takes nothing', async () => {
    const { handler, clock } = await large({ drainMs: 1_000 })
    const { reader } = await firstChunk(await handler(get('/threads/t1/messages')))
    clock.advance(1_000)
    await expect(reader.read()).rejects.toMatchObject({ code: 'READER_STALLED' })
  })
})

describe('a state beyond the limit of a page', () => {
  async function withState(chars: number) {
    const stage = await large({ pageChars: 10_000 })
    const { token } = await stage.store.leases.acquire(REF, { runId: 'tool', ttlMs: 60_000 })
    await stage.store.threads.commit(REF, { set: { note: 'x'.repeat(chars) } }, token)
    await stage.store.leases.release(REF, token)
    return stage
  }

  it('is left out of the thread, which says so', async () => {
    const shown = async (chars: number) => (await (await withState(chars)).handler(get('/threads/t1'))).json()
    expect(await shown(9_000)).toMatchObject({ state: { note: 'x'.repeat(9_000) } })
    expect(await shown(11_000)).toEqual(expect.objectContaining({ threadId: 't1', stateOmitted: true, interrupts: [] }))
    expect(await shown(11_000)).not.toHaveProperty('state')
  })

  it('is left out when the thread is joined, and the rest is there', async () => {
    const types = async (chars: number) => {
      const { handler } = await withState(chars)
      const frames = await framesOf(await handler(get('/threads/t1/connect?protocolVersion=1.0')))
      return frames.map(({ event }) => event.type)
    }
    const [started, state, messages, end] = await types(9_000)
    expect(state).toBe(EventType.STATE_SNAPSHOT)
    expect(await types(11_000)).toEqual([started, messages, end])
  })

  it('does not stay in memory for a reader that takes nothing of the thread', async () => {
    const { handler, clock } = await withState(1_000)
    const response = await handler(get('/threads/t1'))
    clock.advance(30_000)
    await expect(response.text()).rejects.toMatchObject({ code: 'READER_STALLED' })
  })
})

describe('the list of threads', () => {
  async function many(limits: AgUiHandlerOptions['limits']) {
    const stage = await large(limits)
    for (let i = 0; i < 60; i++) {
      const ref = { ...ANN, threadId: `big-${i}` }
      await stage.store.threads.open(ref)
      const { token } = await stage.store.leases.acquire(ref, { runId: 'r', ttlMs: 60_000 })
      await stage.store.threads.commit(ref, { set: { note: 'x'.repeat(40_000) } }, token)
      await stage.store.leases.release(ref, token)
    }
    return stage
  }

  it('has summaries only, and reads each thread once', async () => {
    const { handler, read } = await many({ pageChars: 100_000 })
    const text = await (await handler(get('/threads?limit=1000'))).text()
    expect((JSON.parse(text) as { threads: unknown[] }).threads).toHaveLength(61)
    expect(text.length).toBeLessThan(10_000)
    expect(read.threads).toBe(61)
  })

  it('comes in pages of limited length, each thread once', async () => {
    const { handler } = await many({ pageChars: 1_000 })
    const found: string[] = []
    let query = ''
    for (let i = 0; i < 100 && query !== 'end'; i++) {
      const text: string = await (await handler(get(`/threads?limit=1000${query}`))).text()
      expect(text.length).toBeLessThan(1_200)
      const page = JSON.parse(text) as { threads: { threadId: string }[]; next?: number }
      found.push(...page.threads.map(({ threadId }) => threadId))
      query = page.next === undefined ? 'end' : `&after=${page.next}`
    }
    expect(found).toEqual([...Array.from({ length: 60 }, (_, i) => `big-${59 - i}`), 't1'])
  })
})
