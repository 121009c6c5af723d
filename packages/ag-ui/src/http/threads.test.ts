import type { Message } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { ANN, aborted, framesOf, get, input, post, served, typesOf, words } from './http.fixture.ts'

const REF = { ...ANN, threadId: 't1' }

async function filled() {
  const stage = served(
    async function* ({ runId }, { signal }) {
      yield* words(1)
      if (runId === 'live') await aborted(signal)
    },
    { hidden: (key) => key.startsWith('internal:') },
  )
  const { store } = stage
  await store.threads.open(REF)
  const { token } = await store.leases.acquire(REF, { runId: 'old', ttlMs: 60_000 })
  const messages: Message[] = [
    { id: 'u1', role: 'user', content: 'Hi' },
    { id: 'a1', role: 'assistant', content: 'Hello', toolCalls: [{ id: 'c1', name: 'pick', arguments: '{}' }] },
    { id: 'a2', role: 'assistant', content: 'More' },
  ]
  await store.threads.commit(
    REF,
    {
      set: { shown: 1, 'temp:x': 2, 'internal:y': 3 },
      messages: messages.map((message) => ({ runId: 'old', message })),
      openCalls: [{ callId: 'c1', name: 'pick', agentName: 'Desk' }],
      checkpoint: {
        format: 1,
        runId: 'old',
        agentName: 'Desk',
        interrupts: [{ id: 'q1', reason: 'approval', agentName: 'Desk' }],
        state: null,
      },
    },
    token,
  )
  await store.leases.release(REF, token)
  const ask = async (path: string) => {
    const response = await stage.handler(get(path))
    return (await response.json()) as Record<string, unknown>
  }
  return { ...stage, ask }
}

describe('threads over HTTP', () => {
  it('show their state without hidden keys', async () => {
    const { ask } = await filled()
    expect(await ask('/threads/t1')).toEqual({
      threadId: 't1',
      updatedAt: expect.any(Number),
      waiting: true,
      state: { shown: 1 },
      pendingToolCalls: [{ toolCallId: 'c1', name: 'pick' }],
      interrupts: [expect.objectContaining({ id: 'q1', reason: 'confirmation' })],
    })
  })

  it('that do not exist are 404, or 204 if the client expects that', async () => {
    const { handler } = await filled()
    const paths = ['/threads/other', '/threads/other?optional', '/threads/t1?optional']
    const answers = await Promise.all(paths.map((path) => handler(get(path))))
    expect(answers.map(({ status }) => status)).toEqual([404, 204, 200])
  })

  it('show their messages page by page', async () => {
    const { ask } = await filled()
    const first = await ask('/threads/t1/messages?limit=2')
    expect(first).toMatchObject({
      messages: [
        { id: 'u1', role: 'user' },
        { id: 'a1', toolCalls: [{ id: 'c1' }] },
      ],
    })
    expect(await ask(`/threads/t1/messages?limit=2&after=${first.next}`)).toEqual({
      messages: [expect.objectContaining({ id: 'a2' })],
    })
  })

  it('have a title that the owner can change, also while a run is active', async () => {
    const { ask, handler, store } = await filled()
    const rename = async (body: string, user = 'ann', type = 'application/json') => {
      const headers = { authorization: user, 'content-type': type }
      const request = new Request('http://localhost/threads/t1', { method: 'PATCH', headers, body })
      const response = await handler(request)
      return { status: response.status, body: (await response.json()) as object }
    }
    expect(await rename('{"title":"Trip to Lisbon"}')).toMatchObject({ status: 200, body: { title: 'Trip to Lisbon' } })
    expect(await ask('/threads')).toMatchObject({ threads: [{ threadId: 't1', title: 'Trip to Lisbon' }] })
    expect(await ask('/threads/t1')).toMatchObject({ title: 'Trip to Lisbon' })
    await store.leases.acquire(REF, { runId: 'live', ttlMs: 60_000 })
    expect(await rename('{"title":"Lisbon"}')).toMatchObject({ status: 200, body: { title: 'Lisbon', runId: 'live' } })
    for (const body of ['{}', '[]', 'null', '{"title":""}', '{"title":7}', `{"title":"${'x'.repeat(501)}"}`]) {
      expect(await rename(body), body).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } })
    }
    expect(await rename(`{"title":"${'x'.repeat(20_000)}"}`)).toMatchObject({ status: 413 })
    expect(await rename('{"title":"x"}', 'ann', 'text/plain')).toMatchObject({ status: 415 })
    expect(await rename('{"title":"x"}', 'bob')).toMatchObject({ status: 404 })
    expect(await rename('{"title":null}')).toMatchObject({ status: 200 })
    expect(await ask('/threads/t1')).not.toHaveProperty('title')
  })

  it('are listed by their last change if a client asks for it, page by page', async () => {
    const { ask, store } = await filled()
    for (const threadId of ['t2', 't3']) await store.threads.open({ ...ANN, threadId })
    const { token } = await store.leases.acquire(REF, { runId: 'again', ttlMs: 60_000 })
    await store.threads.commit(REF, { release: true }, token)
    const ids: unknown[] = []
    for (let next: unknown = ''; next !== undefined; ) {
      const page = await ask(`/threads?order=changed&limit=1${next === '' ? '' : `&after=${next}`}`)
      ids.push(...(page.threads as { threadId: string }[]).map(({ threadId }) => threadId))
      next = page.next
    }
    expect(ids).toEqual((await store.threads.recent?.(ANN))?.map(({ ref }) => ref.threadId))
    expect(ids).toHaveLength(3)
    for (const query of ['order=size', 'order=changed&after=5', 'order=changed&after=x-1', 'order=changed&limit=x']) {
      expect(await ask(`/threads?${query}`), query).toMatchObject({ code: 'VALIDATION_FAILED' })
    }
  })

  it('are listed newest first, page by page', async () => {
    const { ask, store } = await filled()
    await store.threads.open({ ...ANN, threadId: 't2' })
    const first = await ask('/threads?limit=1')
    expect(first).toMatchObject({ threads: [{ threadId: 't2', waiting: false }] })
    expect(await ask(`/threads?limit=1&after=${first.next}`)).toMatchObject({ threads: [{ threadId: 't1' }] })
  })

  it('are deleted with their messages and runs', async () => {
    const { handler, store } = await filled()
    await framesOf(await handler(post(input('r1'))))
    const removal = () =>
      handler(new Request('http://localhost/threads/t1', { method: 'DELETE', headers: { authorization: 'ann' } }))
    expect((await removal()).status).toBe(204)
    expect((await removal()).status).toBe(404)
    expect(await store.threads.get(REF)).toBeUndefined()
    expect((await handler(get('/threads/t1/runs/r1'))).status).toBe(404)
  })

  it('without an active run are joined with their history and open questions', async () => {
    const { handler } = await filled()
    const frames = await framesOf(await handler(get('/threads/t1/connect?protocolVersion=1.0')))
    expect(typesOf(frames)).toEqual(['RUN_STARTED', 'STATE_SNAPSHOT', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    expect(frames[1]?.event).toMatchObject({ snapshot: { shown: 1 } })
    expect(frames[3]?.event).toMatchObject({ outcome: { type: 'interrupt', interrupts: [{ id: 'q1' }] } })
    expect(frames.map(({ id }) => id)).toEqual([undefined, undefined, undefined, undefined])
  })

  it('with an active run are joined with their history and the run, each message once', async () => {
    const { handler } = await filled()
    const live = await handler(post(input('live')))
    const joined = await handler(get('/threads/t1/connect?protocolVersion=1.0'))
    const cancel = new Request('http://localhost/threads/t1/runs/live/cancel', {
      method: 'POST',
      headers: { authorization: 'ann' },
    })
    expect((await handler(cancel)).status).toBe(200)
    const frames = await framesOf(joined)
    expect(frames[0]).toMatchObject({ id: 'live:1', event: { type: 'RUN_STARTED' } })
    expect(JSON.stringify(frames[0]?.event).match(/"id":"[au][^"]*"/g)).toEqual(
      ['u1', 'a1', 'a2', 'u-live'].map((id) => `"id":"${id}"`),
    )
    expect(frames.slice(1)).toEqual((await framesOf(live)).slice(1))
  })

  it('cancelling a run that has ended is not an error', async () => {
    const { handler } = await filled()
    await framesOf(await handler(post(input('r1'))))
    const cancel = new Request('http://localhost/threads/t1/runs/r1/cancel', {
      method: 'POST',
      headers: { authorization: 'ann' },
    })
    expect(await (await handler(cancel)).json()).toEqual({ cancelled: false, ended: true })
  })
})

it('routes exist below the mount path only', async () => {
  const { handler } = served(() => words(1), { path: '/api/agent' })
  const at = async (path: string) => (await handler(get(path))).status
  expect(await at('/api/agent/threads')).toBe(200)
  expect(await at('/api/agent/threads/')).toBe(200)
  expect(await at('/threads')).toBe(404)
  expect(await at('/api/agents/threads')).toBe(404)
  expect(await at('/api/agent//threads')).toBe(404)
})
