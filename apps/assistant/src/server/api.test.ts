import { KernelError } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { asValue } from 'awilix'
import { expect, test } from 'vitest'
import { readConfig } from '../config.ts'
import { createApp } from '../container.ts'

const config = { ...readConfig({}), database: { type: 'sqlite', path: ':memory:' } as const }
const STATE = 'http://localhost/api/threads/t/state'

/** The routes of the page on a store whose threads fail with this code. */
async function brokenApi(code: string) {
  const fails = () => Promise.reject(new KernelError(code, 'password is hunter2'))
  const store = memoryStore()
  const threads = new Proxy(store.threads, { get: () => fails })
  return (await createApp(config, 'page')).register({ store: asValue({ ...store, threads }) }).cradle.api
}

test.each(['STORE_BUSY', 'STORE_FULL', 'STORE_READ_ONLY', 'STORE_UNAVAILABLE'])(
  'a store that fails with %s is a 503 with retry-after, and keeps its message to itself',
  async (code) => {
    const api = await brokenApi(code)
    const requests = [
      new Request('http://localhost/api/threads/t/history'),
      new Request(STATE, { method: 'PUT', body: '{}' }),
    ]
    for (const request of requests) {
      const response = await api(request)
      expect([request.url, response.status, response.headers.get('retry-after')]).toEqual([request.url, 503, '1'])
      expect(await response.text()).not.toContain('hunter2')
    }
  },
)

test('an error without a status is a 500 that keeps its message to itself', async () => {
  const response = await (await brokenApi('STORE_FAILED'))(new Request('http://localhost/api/threads/t/history'))
  expect([response.status, await response.json()]).toEqual([500, { code: 'STORE_FAILED', message: 'Internal error.' }])
})

test('a body whose client has left is an error of the client', async () => {
  const { api } = (await createApp(config, 'page')).cradle
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error('aborted')) })
  const response = await api(new Request(STATE, { method: 'PUT', body, duplex: 'half' } as RequestInit))
  expect([response.status, await response.json()]).toMatchObject([400, { code: 'VALIDATION_FAILED' }])
})
