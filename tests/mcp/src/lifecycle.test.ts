import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mcpTools } from '@troupe/mcp'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { deskCommand, runnerFor, SESSION } from './agent.fixture.ts'
import { childrenOf } from './children.ts'
import { HttpFixture, statefulDesk, statelessDesk } from './servers/desk-http.ts'

// Each test starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  file = join(folder, 'notes')
})
afterEach(() => rmSync(folder, { recursive: true }))
const notes = () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [])
const ECHO = [[{ name: 'desk_echo', arguments: { text: 'Hi' } }]]
const sessionOf = (user: string) => ({ ...SESSION, user })

it('a process starts with the first run, and ends with the handler', async () => {
  const before = childrenOf(process.pid).length
  const tools = mcpTools({ servers: { desk: deskCommand('stateful') } })
  expect(childrenOf(process.pid)).toHaveLength(before)
  await runnerFor(tools, ECHO).query('Go', { session: SESSION })
  expect(childrenOf(process.pid)).toHaveLength(before + 1)
  await tools[Symbol.asyncDispose]()
  expect(childrenOf(process.pid)).toHaveLength(before)
})

it('owners of a stateful server have a connection each, those of a stateless one share it', async () => {
  const before = childrenOf(process.pid).length
  for (const [generation, processes] of [
    ['stateful', 3],
    ['both', 1],
  ] as const) {
    await using tools = mcpTools({ servers: { desk: deskCommand(generation) } })
    for (const user of ['ann', 'bob', 'eve']) await runnerFor(tools, ECHO).query('Go', { session: sessionOf(user) })
    expect(childrenOf(process.pid)).toHaveLength(before + processes)
  }
  expect(childrenOf(process.pid)).toHaveLength(before)
})

it('a session over HTTP ends with the handler, and one that the server has forgotten begins anew', async () => {
  const { handle, sessions } = statefulDesk()
  await using http = await HttpFixture.start(handle)
  {
    await using tools = mcpTools({ servers: { desk: { url: http.url, trusted: true } } })
    await runnerFor(tools, ECHO).query('Go', { session: SESSION })
    expect(sessions.size).toBe(1)
    sessions.clear()
    const { messages } = await runnerFor(tools, ECHO).query('Go', { session: { ...SESSION, threadId: 't2' } })
    expect(messages.find(({ role }) => role === 'tool')?.content).toBe('Hi')
    expect(sessions.size).toBe(1)
  }
  expect(sessions.size).toBe(0)
})

it('a server that comes back is used again, and while it is down the model is told so', async () => {
  const first = await HttpFixture.start(statelessDesk())
  await using tools = mcpTools({ servers: { desk: { url: first.url, trusted: true } } })
  const contentOf = async (threadId: string) => {
    const { messages, outcome } = await runnerFor(tools, ECHO).query('Go', { session: { ...SESSION, threadId } })
    const result = messages.find((message) => message.role === 'tool')
    return [outcome, result?.error?.code ?? result?.content]
  }
  expect(await contentOf('t1')).toEqual(['complete', 'Hi'])
  await first[Symbol.asyncDispose]()
  expect(await contentOf('t2')).toEqual(['complete', 'MCP_UNAVAILABLE'])
  await using _second = await HttpFixture.start(statelessDesk(), Number(new URL(first.url).port))
  expect(await contentOf('t3')).toEqual(['complete', 'Hi'])
})

it.each(['stateful', 'both'] as const)('a call that is aborted is cancelled at the server (%s)', async (generation) => {
  await using tools = mcpTools({ servers: { desk: deskCommand(generation, file) } })
  const stop = new AbortController()
  const { query } = runnerFor(tools, [[{ name: 'desk_wait' }]])
  const done = query('Go', { session: SESSION, signal: stop.signal }).catch((error: Error) => error.cause ?? error)
  await expect.poll(() => notes(), { timeout: 10_000 }).toEqual(['wait begins'])
  stop.abort()
  expect(await done).toMatchObject({ name: 'AbortError' })
  await expect.poll(() => notes(), { timeout: 10_000 }).toEqual(['wait begins', 'wait cancelled'])
})
