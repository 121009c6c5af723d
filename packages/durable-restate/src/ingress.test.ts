import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@troupe/kernel/kit'
import { fakeClock } from '@troupe/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ingress } from './ingress.ts'

const ref = { app: 'shop', user: 'ann/../bob', threadId: 't 1?' }
const order = { ref, runId: 'run/1', agent: 'assistant@2', input: { messages: [] } }

interface Asked {
  readonly path: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

let asked: Asked[] = []
let answer = { status: 200, body: '{}' }
const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  asked.push({ path: request.url, headers: request.headers, body })
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
})
let url: string
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => new Promise((resolve) => server.close(resolve)))

const engine = (status = 200, body = '{}') => {
  asked = []
  answer = { status, body }
  return ingress({ url: `${url}/`, headers: { authorization: 'Bearer x' } }, systemClock)
}

describe('the ingress', () => {
  it('gets an order under the run id, for the object of the thread, which has the owner in its key', async () => {
    await engine().submit(order)
    const key = encodeURIComponent('["shop","ann/../bob","t 1?"]')
    expect(asked).toMatchObject([
      {
        path: `/assistant.v2/${key}/run/send`,
        headers: { 'idempotency-key': 'run/1', authorization: 'Bearer x', 'content-type': 'application/json' },
      },
    ])
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual(order)
  })

  it('gets a cancel for a run', async () => {
    await engine().cancel(order, 'after-tools')
    expect(asked[0]?.path).toMatch(/\/cancel\/send$/)
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ runId: 'run/1', mode: 'after-tools' })
  })

  it.each([
    [470, true],
    [404, false],
    [200, false],
    [500, false],
  ])('says by %i whether a run will still be ended: %s', async (status, carries) => {
    expect(await engine(status).carries(order)).toBe(carries)
    expect(asked[0]?.path).toMatch(/^\/restate\/invocation\/assistant\.v2\/.*\/run\/run%2F1\/output$/)
  })

  it('is asked again later if it fails, and not if it refuses', async () => {
    const unavailable = { code: 'ENGINE_UNAVAILABLE', retryable: true }
    await expect(engine(503, 'overloaded').submit(order)).rejects.toMatchObject(unavailable)
    await expect(engine(429).submit(order)).rejects.toMatchObject(unavailable)
    await expect(engine(404, 'no such service').submit(order)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      retryable: false,
      message: expect.stringContaining('register the workers'),
    })
  })

  it('is unavailable if nobody listens, or nobody answers', async () => {
    await expect(ingress({ url: 'http://127.0.0.1:1' }, systemClock).submit(order)).rejects.toMatchObject({
      code: 'ENGINE_UNAVAILABLE',
      retryable: true,
    })
    const clock = fakeClock()
    const hangs = (_: unknown, { signal }: RequestInit = {}) =>
      new Promise<Response>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const submitted = ingress({ url, fetch: hangs as typeof fetch }, clock).submit(order)
    clock.advance(10_000)
    await expect(submitted).rejects.toMatchObject({ code: 'ENGINE_UNAVAILABLE' })
  })
})
