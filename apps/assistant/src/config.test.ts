import { expect, it } from 'vitest'
import { readConfig } from './config.ts'

it('needs nothing', () => {
  expect(readConfig({})).toEqual({
    vendor: undefined,
    port: 0,
    database: { type: 'sqlite', path: 'troupe.db' },
    folder: '.',
    wordDelayMs: 35,
    lostRuns: 'continue',
    traceUrl: undefined,
  })
})

it('takes port, database, folder and vendor from the environment', () => {
  const env = { PORT: '8080', TROUPE_DB: 'a.db', TROUPE_FOLDER: 'src', TROUPE_MODEL: 'ollama:qwen3:8b' }
  expect(readConfig(env)).toMatchObject({
    port: 8080,
    database: { type: 'sqlite', path: 'a.db' },
    folder: 'src',
    vendor: { vendor: 'ollama', model: 'qwen3:8b', ollamaUrl: 'http://localhost:11434/v1' },
  })
  expect(readConfig({ ...env, DATABASE_URL: 'postgres://db/chat' }).database).toEqual({
    type: 'postgres',
    url: 'postgres://db/chat',
  })
})

it.each([
  [{ PORT: '70000' }, 'PORT: expected a whole number of at most 65535, got "70000"'],
  [{ PORT: 'http' }, 'PORT: expected'],
  [{ TROUPE_WORD_DELAY_MS: '-1' }, 'TROUPE_WORD_DELAY_MS: expected'],
  [{ TROUPE_TRACE_URL: 'http://localhost:16686' }, 'TROUPE_TRACE_URL: expected an address such as'],
  [{ TROUPE_TRACE_URL: 'javascript:{traceId}' }, 'TROUPE_TRACE_URL: expected an address such as'],
  [{ TROUPE_LOST_RUNS: 'never' }, 'TROUPE_LOST_RUNS: expected continue or ask, got "never"'],
  [{ TROUPE_MODEL: 'openai:gpt-5' }, 'openai needs a key; set OPENAI_API_KEY, or unset TROUPE_MODEL'],
])('%o is refused, with what to do', (env, message) => {
  expect(() => readConfig(env)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
  )
})
