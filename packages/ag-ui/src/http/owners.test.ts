import { EventType } from '@ag-ui/core'
import { expect, it } from 'vitest'
import { ANN, aborted, BOB, framesOf, input, post, served, words } from './http.fixture.ts'
import type { Route } from './route.ts'

/** Routes without an id in their path, and why they serve their owner only. */
const WITHOUT_ID = new Set(['run', 'capabilities', 'threads'])

const held = served(async function* ({ runId }, { signal }) {
  yield* words(2)
  if (runId === 'live') await aborted(signal)
  else yield { type: EventType.CUSTOM, name: 'x', value: 1 }
})

function requestTo({ method, path }: Route, user: string, ids: Record<string, string>): Request {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? 'x')
  return new Request(`http://localhost${filled}`, {
    method,
    headers: { authorization: user, 'content-type': 'application/json' },
    ...(method === 'POST' && { body: '{}' }),
  })
}

async function answerTo(request: Request): Promise<unknown> {
  const response = await held.handler(request)
  const { requestId: _, ...body } = (await response.json()) as { requestId: string }
  return { status: response.status, body }
}

it('every route with an id answers alike for an id of another owner, an unknown id and an invalid id', async () => {
  const { handler, store } = held
  await framesOf(await handler(post(input('done', 'threadA'))))
  const live = await handler(post(input('live', 'threadB')))
  const before = JSON.stringify(await store.threads.list(ANN))
  let walked = 0
  for (const route of handler.routes) {
    if (!route.path.includes(':')) {
      expect(WITHOUT_ID, `route ${route.name} has no id: say here how it keeps to its owner`).toContain(route.name)
      continue
    }
    walked++
    const absent = await answerTo(requestTo(route, 'bob', { threadId: 'nobody', runId: 'nothing' }))
    expect(absent, route.name).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
    for (const ids of [
      { threadId: 'threadA', runId: 'done' },
      { threadId: 'threadB', runId: 'live' },
      { threadId: '%00', runId: '%F0%9F%98%80'.repeat(200) },
      { threadId: '__proto__', runId: 'constructor' },
    ]) {
      expect(await answerTo(requestTo(route, 'bob', ids)), `${route.name} ${ids.threadId}`).toEqual(absent)
    }
  }
  expect(walked).toBe(handler.routes.length - WITHOUT_ID.size)
  expect(JSON.stringify(await store.threads.list(ANN))).toBe(before)
  await live.body?.cancel()
})

it('a list shows its owner alone, and a run under the id of a foreign thread is another thread', async () => {
  const { handler, store } = held
  await framesOf(await handler(post(input('hers', 'shared'))))
  const foreign = await handler(post(input('his', 'shared'), { authorization: 'bob' }))
  expect((await framesOf(foreign)).length).toBeGreaterThan(2)
  const list = await handler(new Request('http://localhost/threads', { headers: { authorization: 'bob' } }))
  expect(await list.json()).toEqual({
    threads: [{ threadId: 'shared', updatedAt: expect.any(Number), waiting: false }],
  })
  expect(await store.threads.get({ ...BOB, threadId: 'shared' })).toBeDefined()
  const log = await handler(
    new Request('http://localhost/threads/shared/runs/hers', { headers: { authorization: 'bob' } }),
  )
  expect(log.status).toBe(404)
})

it('a request without a user gets nothing', async () => {
  for (const route of held.handler.routes) {
    const response = await held.handler(requestTo(route, '', { threadId: 'threadA', runId: 'done' }))
    expect(response.status, route.name).toBe(401)
  }
})
