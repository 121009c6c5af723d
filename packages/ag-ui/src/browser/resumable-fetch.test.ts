import { expect, it } from 'vitest'
import { resumableFetch } from './resumable-fetch.ts'

const DONE = 'id: r1:1\ndata: {"type":"RUN_FINISHED"}\n\n'
const stream = () => new Response(DONE, { headers: { 'content-type': 'text/event-stream' } })
const post = { method: 'POST', body: JSON.stringify({ threadId: 't1', runId: 'r1' }) }
const pauseMs = () => 0

it('follows a run whose first request arrives after the run was looked for', async () => {
  const answers = [
    () => Promise.reject(new TypeError('cut')),
    async () => new Response('', { status: 404 }),
    async () => new Response('{"code":"THREAD_BUSY"}', { status: 409 }),
    async () => stream(),
  ]
  const asked: string[] = []
  const fetch = resumableFetch({
    pauseMs,
    fetch: (url, { method } = {}) => {
      asked.push(`${method} ${url}`)
      return (answers[asked.length - 1] ?? (() => Promise.reject(new Error('too often'))))()
    },
  })
  const response = await fetch('/agent', post)
  expect([response.status, await response.text()]).toEqual([200, DONE])
  const follow = 'GET /agent/threads/t1/runs/r1?after=0&protocolVersion='
  expect(asked).toEqual(['POST /agent', follow, 'POST /agent', follow])
})

it('gets the error of a thread that is busy with another run', async () => {
  const statuses = [0, 404, 409, 404]
  const fetch = resumableFetch({
    pauseMs,
    fetch: async () => {
      const status = statuses.shift()
      if (!status) throw new TypeError('cut')
      return new Response('', { status })
    },
  })
  expect((await fetch('/agent', post)).status).toBe(409)
})

it.each(['no json', 'null', '[]', '"text"', '{"threadId":1,"runId":{}}', '{}'])(
  'lets a request pass that starts no run: %s',
  async (body) => {
    const fetch = resumableFetch({ fetch: async (_, init) => new Response(String(init?.body)) })
    expect(await (await fetch('/elsewhere', { method: 'POST', body })).text()).toBe(body)
  },
)
