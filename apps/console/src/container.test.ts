import { scriptedModel } from '@troupe/testkit'
import { asValue } from 'awilix'
import { expect, it } from 'vitest'
import { readConfig } from './config.ts'
import { createApp } from './container.ts'

const config = readConfig([], {}, false)

it('resolves everything that is registered', async () => {
  const app = await createApp(config)
  for (const name of Object.keys(app.registrations)) expect(app.resolve(name), name).toBeDefined()
})

it('wires the demo model, or the vendor that is configured', async () => {
  expect((await createApp(config)).cradle.model.name).toBe('demo')
  const vendor = { vendor: 'ollama', model: 'llama3.2', ollamaUrl: 'http://127.0.0.1:1/v1' } as const
  expect((await createApp({ ...config, vendor })).cradle.model.name).toBe('ollama:llama3.2')
})

it('keeps conversations in SQLite, or in PostgreSQL; neither is reached before it is used', async () => {
  for (const database of [
    { type: 'sqlite', path: '/nowhere/chat.db' },
    { type: 'postgres', url: 'postgres://127.0.0.1:1/chat' },
  ] as const) {
    const app = await createApp({ ...config, database })
    expect(app.cradle.store.threads).toBeDefined()
    await expect(app.cradle.store.threads.list({ app: 'a', user: 'u' })).rejects.toMatchObject({
      code: expect.stringMatching(/^STORE_/),
    })
    await app.dispose()
  }
})

it('swaps a part with one registration', async () => {
  const app = (await createApp(config)).register({ model: asValue(scriptedModel(['Hi'])) })
  expect(app.cradle.model.name).toBe('scripted')
  expect((await app.cradle.runner.query('Hello?')).text).toBe('Hi')
})
