import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '@troupe/store-sqlite'
import { expect, it } from 'vitest'

const main = new URL('main.ts', import.meta.url).pathname

/** Starts the app; gives what it prints and how it ends. */
function demo(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env.PATH, ...env } })
  const printed = { out: '', err: '' }
  child.stdout.on('data', (chunk) => (printed.out += chunk))
  child.stderr.on('data', (chunk) => (printed.err += chunk))
  return { child, printed, ended: once(child, 'exit').then(([code]) => ({ code, ...printed })) }
}

it('answers a question and shows the run, plain when piped', async () => {
  const { code, out, err } = await demo(["What's the weather in Beijing?"]).ended
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('● RouterAgent\n  → transfer_to_agent {"agent_name":"WeatherAgent"}\n')
  expect(out).toContain('● RouterAgent › WeatherAgent\n')
  expect(out).toContain('→ get_weather {"city":"Beijing"}')
  expect(out).toContain('I am a demo model')
  expect(out).toMatch(/✔ complete · 3 model calls · \d+ tokens in, \d+ out · \d+ ms\n$/)
  expect(out).not.toContain('\u001b')
})

it('hands small talk to the one for it', async () => {
  const { code, out } = await demo(['Hello there']).ended
  expect(code).toBe(0)
  expect(out).toContain('● RouterAgent › ChatAgent\n  I am a demo model')
})

it('lets a sub-agent look into the code, and shows its work beside a bar', async () => {
  const { code, out, err } = await demo(['Where in the code is demoModel?'], {
    TROUPE_FOLDER: new URL('.', import.meta.url).pathname,
  }).ended
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('  → codebase_investigator {"objective":"Where in the code is demoModel?"}\n')
  expect(out).toContain('\n  │ ● RouterAgent › codebase_investigator\n  │   I search for "function demoModel".\n')
  expect(out).toMatch(/\n {2}│ {3}← demo-model\.ts:\d+: export function demoModel/)
  expect(out).toMatch(/\n {2}← \*\*Codebase investigator\*\*: goal, 2 turns, \d+ ms\n/)
  expect(out).toMatch(/✔ complete · 4 model calls · \d+ tokens in, \d+ out · \d+ ms\n$/)
})

it('stops quietly when nobody reads it any more', async () => {
  const { child, ended } = demo(['Hello there'])
  child.stdout.destroy()
  const { err } = await ended
  expect(err).toBe('')
})

it('goes on with a conversation in another process, in a SQLite file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-console-'))
  try {
    const env = { TROUPE_DB: join(folder, 'chat.db') }
    const first = await demo(['--thread', 't', "What's the weather in Beijing?"], env).ended
    expect([first.code, first.err]).toEqual([0, ''])
    const second = await demo(['--thread', 't', 'And again?'], env).ended
    expect([second.code, second.err]).toEqual([0, ''])
    expect(first.out).toMatch(/\nthread t · 1 run · \d+ tokens in, \d+ out\n$/)
    expect(second.out).toMatch(/\nthread t · 2 runs · \d+ tokens in, \d+ out\n$/)
    const tokens = (out: string) => Number(/(\d+) tokens in/.exec(out)?.[1])
    // The demo model counts what it is told.
    expect(tokens(second.out)).toBeGreaterThan(100)
    const store = sqliteStore({ path: env.TROUPE_DB })
    const messages = await store.threads.messages({ app: 'console', user: 'console', threadId: 't' })
    expect(messages.filter(({ message }) => message.role === 'user').map(({ message }) => message.content)).toEqual([
      "What's the weather in Beijing?",
      'And again?',
    ])
    expect(await store.records.runs({ app: 'console', user: 'console', threadId: 't' })).toMatchObject([
      { seq: 1, status: 'complete', agentName: 'RouterAgent', text: expect.stringContaining('24 °C') },
      { seq: 2, status: 'complete' },
    ])
    await store[Symbol.asyncDispose]()
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('leaves a cancelled record when it is stopped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-console-'))
  const server = createServer(() => undefined).listen(0, '127.0.0.1')
  try {
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const env = { TROUPE_MODEL: 'ollama:silent', OLLAMA_BASE_URL: `http://127.0.0.1:${port}/v1` }
    const database = { TROUPE_DB: join(folder, 'chat.db') }
    const { child, ended } = demo(['--thread', 't', 'Hi'], { ...env, ...database })
    await once(server, 'request')
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 130, err: '' })
    const store = sqliteStore({ path: database.TROUPE_DB })
    const ref = { app: 'console', user: 'console', threadId: 't' }
    expect(await store.records.runs(ref)).toMatchObject([{ status: 'cancelled' }])
    await store[Symbol.asyncDispose]()
  } finally {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  }
})

it('says that a run broke off, and goes on with it when it is told to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-console-'))
  const server = createServer(() => undefined).listen(0, '127.0.0.1')
  try {
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const database = { TROUPE_DB: join(folder, 'chat.db') }
    const env = { TROUPE_MODEL: 'ollama:silent', OLLAMA_BASE_URL: `http://127.0.0.1:${port}/v1`, ...database }
    const { child, ended } = demo(['--thread', 't', "What's the weather in Beijing?"], env)
    await once(server, 'request')
    child.kill('SIGKILL')
    await ended
    const sqlite = new DatabaseSync(database.TROUPE_DB)
    sqlite.exec('update troupe_leases set expires_at = 0')
    sqlite.close()
    const { code, out, err } = await demo(['--thread', 't', '--continue'], database).ended
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(
      'The run for "What\'s the weather in Beijing?" broke off after 0 model calls and 0 tool calls.\n',
    )
    expect(out).toContain('→ get_weather {"city":"Beijing"}')
    expect(out).toMatch(/thread t · 1 run · \d+ tokens in, \d+ out\n$/)
    const again = await demo(['--thread', 't', '--continue'], database).ended
    expect([again.code, again.out.split('\n')[0]]).toEqual([0, 'No run of this conversation broke off.'])
  } finally {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  }
})

it('says what to do when the database cannot be opened', async () => {
  const { code, err } = await demo(['--thread', 't', 'Hi'], { TROUPE_DB: '/nowhere/at/all.db' }).ended
  expect([code, err.split('\n').length]).toEqual([2, 2])
  expect(err).toContain('/nowhere/at/all.db')
})

it('prints the tree of agents', async () => {
  const { code, out } = await demo(['--agents']).ended
  expect(code).toBe(0)
  expect(out).toContain('RouterAgent: A router that transfers tasks to other agents.\n├─ ChatAgent: ')
  expect(out).toContain('flowchart TD')
})

it('prints its usage', async () => {
  expect(await demo(['--help']).ended).toMatchObject({ code: 0, out: expect.stringContaining('Usage: pnpm demo') })
})

it('says which key is missing, without a stack', async () => {
  expect(await demo(['Hi'], { TROUPE_MODEL: 'google:gemini' }).ended).toEqual({
    code: 2,
    out: '',
    err: 'TROUPE_MODEL: google needs a key; set GOOGLE_GENERATIVE_AI_API_KEY, or unset TROUPE_MODEL for the demo model\n',
  })
})

it('a model that fails is reported once, and the app ends with 1', async () => {
  const server = createServer((_, response) => {
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"Bad key."}}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const env = {
    TROUPE_MODEL: 'openai:gpt-5',
    OPENAI_API_KEY: 'wrong',
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
  }
  try {
    const { code, out, err } = await demo(['Hi'], env).ended
    expect([code, err]).toEqual([1, ''])
    const shown = /✗ MODEL_AUTH_FAILED: .*the vendor refuses the key or the account, got 401; check OPENAI_API_KEY\n/g
    expect(out.match(shown)).toHaveLength(1)
    expect(out).toMatch(/✗ failed · .*\n$/)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

it('stops cleanly on Ctrl-C, while a vendor is silent', async () => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const env = { TROUPE_MODEL: 'ollama:silent', OLLAMA_BASE_URL: `http://127.0.0.1:${port}/v1` }
  const { child, ended } = demo(['Hi'], env)
  await once(server, 'request')
  child.kill('SIGINT')
  const { code, out, err } = await ended
  server.closeAllConnections()
  server.close()
  expect([code, err]).toEqual([130, ''])
  expect(out).toContain('✗ cancelled')
})
