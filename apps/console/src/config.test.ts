import { expect, it } from 'vitest'
import { readConfig } from './config.ts'

it('asks what the arguments say, with the demo model, plain when piped', () => {
  expect(readConfig(['How', 'are you?'], {}, false)).toEqual({
    question: 'How are you?',
    vendor: undefined,
    wordDelayMs: 0,
    color: false,
    help: false,
    agents: false,
    thread: undefined,
    database: { type: 'sqlite', path: 'troupe.db' },
    folder: '.',
  })
})

it('asks about Beijing when it is told nothing, in colour and at a pace to read on a terminal', () => {
  expect(readConfig([], {}, true)).toMatchObject({
    question: "What's the weather in Beijing?",
    color: true,
    wordDelayMs: 25,
  })
})

it.each([
  [{ NO_COLOR: '1' }, true, false],
  [{ FORCE_COLOR: '1' }, false, true],
  [{ FORCE_COLOR: '0' }, true, false],
])('follows %o', (env, terminal, color) => {
  expect(readConfig([], env, terminal).color).toBe(color)
})

it('takes a vendor with its model, which may have a colon of its own', () => {
  const env = { TROUPE_MODEL: 'openai:gpt-5', OPENAI_API_KEY: 'k' }
  expect(readConfig([], env, false).vendor).toMatchObject({ vendor: 'openai', model: 'gpt-5' })
  expect(readConfig([], { TROUPE_MODEL: 'ollama:llama3.2:1b' }, false).vendor).toEqual({
    vendor: 'ollama',
    model: 'llama3.2:1b',
    ollamaUrl: 'http://localhost:11434/v1',
  })
})

it.each([
  [
    { TROUPE_MODEL: 'gpt-5' },
    /expected <vendor>:<model> with a vendor of openai, anthropic, google, ollama, got "gpt-5"/,
  ],
  [{ TROUPE_MODEL: 'openai:' }, /got "openai:"/],
  [{ TROUPE_MODEL: 'toString:x' }, /got "toString:x"/],
  [{ TROUPE_MODEL: 'anthropic:claude' }, /anthropic needs a key; set ANTHROPIC_API_KEY, or unset TROUPE_MODEL/],
])('says what to do about %o', (env, message) => {
  expect(() => readConfig([], env, false)).toThrow(message)
})

it('knows --help, and says so when it is asked for something else', () => {
  expect(readConfig(['--help'], {}, false).help).toBe(true)
  expect(() => readConfig(['--hlep'], {}, false)).toThrow(/hlep.*try --help/)
})

it('keeps a conversation in a SQLite file, or in PostgreSQL when there is a url', () => {
  expect(readConfig(['--thread', 'holiday', 'Hi'], {}, false)).toMatchObject({ thread: 'holiday', question: 'Hi' })
  expect(readConfig([], { TROUPE_DB: 'other.db' }, false).database).toEqual({ type: 'sqlite', path: 'other.db' })
  const url = 'postgres://localhost/chat'
  expect(readConfig([], { TROUPE_DB: 'x', DATABASE_URL: url }, false).database).toEqual({ type: 'postgres', url })
  expect(() => readConfig(['--thread', ''], {}, false)).toThrow(/--thread takes the name/)
})
