import { scriptedModel } from '@troupe/testkit'
import { asValue } from 'awilix'
import { expect, it } from 'vitest'
import type { RequestScope } from './app.ts'
import { readConfig } from './config.ts'
import { createApp } from './container.ts'

const config = { ...readConfig({}), database: { type: 'sqlite', path: ':memory:' } as const, wordDelayMs: 0 }
const session = { app: 'a', user: 'u', threadId: 't' }

it('resolves everything that is registered, in the scope of a request', async () => {
  const app = await createApp(config, 'page')
  const scope = app.createScope<RequestScope>().register({ request: asValue(new Request('http://localhost/none')) })
  for (const name of Object.keys(app.registrations)) {
    const part = scope.resolve(name)
    expect(part, name).toBeDefined()
    expect(part, name).not.toBeInstanceOf(Promise)
  }
  expect((await scope.cradle.respond()).status).toBe(404)
})

it('has no request outside of one', async () => {
  const app = await createApp(config, 'page')
  expect(() => app.resolve('respond')).toThrow(/request/)
})

it('swaps the model with one registration, or with a word in the environment', async () => {
  const app = (await createApp(config, 'page')).register({ model: asValue(scriptedModel(['Hi'])) })
  expect((await app.cradle.runner.query('Hello?', { session })).text).toBe('Hi')
  const vendor = { vendor: 'ollama', model: 'llama3.2', ollamaUrl: 'http://127.0.0.1:1/v1' } as const
  expect((await createApp({ ...config, vendor }, 'page')).cradle.model.name).toBe('ollama:llama3.2')
  expect((await createApp(config, 'page')).cradle.model.name).toBe('demo')
})
