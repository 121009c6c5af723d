import { expect, it } from 'vitest'
import { readConfig } from './config.ts'

it('asks what the arguments say, with the demo model, plain when piped', () => {
  expect(readConfig(['How', 'are you?'], {}, false)).toEqual({
    question: 'How are you?',
    continues: false,
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

it('refuses what it cannot use from the environment', () => {
  expect(() => readConfig([], { TROUPE_MODEL: 'gpt-5' }, false)).toThrow(/TROUPE_MODEL: expected/)
})

it('knows --help, and says so when it is asked for something else', () => {
  expect(readConfig(['--help'], {}, false).help).toBe(true)
  expect(() => readConfig(['--hlep'], {}, false)).toThrow(/hlep.*try --help/)
})

it('keeps a conversation that has a name', () => {
  const env = { TROUPE_DB: 'other.db' }
  expect(readConfig(['--thread', 'holiday', 'Hi'], env, false)).toMatchObject({
    thread: 'holiday',
    question: 'Hi',
    database: { type: 'sqlite', path: 'other.db' },
  })
  expect(() => readConfig(['--thread', ''], {}, false)).toThrow(/--thread needs the name/)
})

it('goes on with a run that broke off, and asks only what it is told to', () => {
  expect(readConfig(['--thread', 't', '--continue'], {}, false)).toMatchObject({ continues: true, question: undefined })
  expect(readConfig(['--thread', 't', '--continue', 'And?'], {}, false)).toMatchObject({ question: 'And?' })
  expect(() => readConfig(['--continue'], {}, false)).toThrow(/--continue needs --thread/)
})
