import { expect, it } from 'vitest'
import { databaseStore } from './database.ts'
import { readSettings } from './settings.ts'

it('needs nothing', () => {
  expect(readSettings({})).toEqual({
    vendor: undefined,
    database: { type: 'sqlite', path: 'troupe.db' },
    folder: '.',
  })
  expect(readSettings({ TROUPE_MODEL: '', TROUPE_DB: '', TROUPE_FOLDER: '', DATABASE_URL: '' })).toEqual(
    readSettings({}),
  )
})

it('takes a vendor with its model, which may have a colon of its own', () => {
  const env = { TROUPE_MODEL: 'openai:gpt-5', OPENAI_API_KEY: 'k' }
  expect(readSettings(env).vendor).toMatchObject({ vendor: 'openai', model: 'gpt-5' })
  const ollama = { TROUPE_MODEL: 'ollama:llama3.2:1b' }
  expect(readSettings(ollama).vendor).toEqual({
    vendor: 'ollama',
    model: 'llama3.2:1b',
    ollamaUrl: 'http://localhost:11434/v1',
  })
  const url = 'http://127.0.0.1:1/v1'
  expect(readSettings({ ...ollama, OLLAMA_BASE_URL: url }).vendor?.ollamaUrl).toBe(url)
})

it('keeps conversations in a SQLite file, or in PostgreSQL when there is a url', () => {
  expect(readSettings({ TROUPE_DB: 'other.db' }).database).toEqual({ type: 'sqlite', path: 'other.db' })
  const url = 'postgres://localhost/chat'
  expect(readSettings({ TROUPE_DB: 'x', DATABASE_URL: url }).database).toEqual({ type: 'postgres', url })
})

it.each([
  [
    { TROUPE_MODEL: 'gpt-5' },
    'TROUPE_MODEL: expected <vendor>:<model> with a vendor of openai, anthropic, google, ollama, got "gpt-5"',
  ],
  [{ TROUPE_MODEL: 'openai:' }, 'got "openai:"'],
  [{ TROUPE_MODEL: 'toString:x' }, 'got "toString:x"'],
  [
    { TROUPE_MODEL: 'anthropic:claude' },
    'TROUPE_MODEL: anthropic needs a key; set ANTHROPIC_API_KEY, or unset TROUPE_MODEL for the demo model',
  ],
])('%o is refused, with what to do', (env, message) => {
  expect(() => readSettings(env)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
  )
})

it.each([
  { type: 'sqlite', path: '/nowhere/chat.db' },
  { type: 'postgres', url: 'postgres://127.0.0.1:1/chat' },
] as const)('a $type database is not reached before it is used', async (database) => {
  const store = databaseStore(database)
  await expect(store.threads.list({ app: 'a', user: 'u' })).rejects.toMatchObject({
    code: expect.stringMatching(/^STORE_/),
  })
  await store[Symbol.asyncDispose]()
})
