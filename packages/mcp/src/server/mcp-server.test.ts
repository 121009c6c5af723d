import { defineTool, type Runner, type Schema } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock, testOptions } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { type McpServerLimits, type McpServerOptions, mcpServer } from './index.ts'
import { mcpHttpServer, serveStdio } from './node.ts'

const store = memoryStore()
const owner = { app: 'a', user: 'u' }
/** A runner whose agent is never run. */
const runnerOf = (agent: Runner['agent']) => ({ agent, run() {}, resume() {}, cancel() {} }) as never as Runner
const agent: Runner['agent'] = { name: 'a', description: 'd', async *run() {} }
const tool = defineTool({ name: 'b', description: 'd', parameters: { type: 'object' }, invoke: () => 'x' })
const limits: Required<McpServerLimits> = {
  bodyBytes: 1,
  answerChars: 1,
  keepAliveMs: 1,
  streamsPerUser: 1,
  sessionsPerUser: 1,
  sessions: 1,
  sessionMs: 1,
  answerMs: 1,
}
const all: Required<Omit<McpServerOptions, 'owner'>> = {
  runner: runnerOf,
  agents: [agent],
  tools: [tool],
  outputs: { a: { type: 'object' } },
  store,
  authenticate: () => undefined,
  info: { name: 'n', version: '1' },
  instructions: 'i',
  extend: () => {},
  cors: { origins: ['https://app.example.com'] },
  maxConcurrentExecutions: 1,
  maxExecutionsPerUser: 1,
  executionTimeoutMs: 1,
  limits,
  clock: fakeClock(),
  report: () => {},
}

testOptions('mcpServer', mcpServer as (options: typeof all) => unknown, all)
testOptions(
  'limits of mcpServer',
  (given: typeof limits) => mcpServer({ runner: runnerOf(agent), store, owner, limits: given }),
  limits,
)

describe('mcpServer', () => {
  const base = { runner: runnerOf(agent), store, owner }
  const longRunning = { ...tool, longRunning: true }
  it.each<[string, object, RegExp]>([
    ['no runner', { store, owner }, /expected a runner/],
    ['a runner beside agents', { ...base, agents: [agent] }, /runner must be/],
    ['nobody who signs in', { runner: base.runner, store }, /either authenticate or/],
    ['both', { ...base, authenticate: () => undefined }, /either authenticate or/],
    ['no store', { runner: base.runner, owner }, /store must be/],
    ['a limit of 0', { ...base, limits: { answerMs: 0 } }, /answerMs must be/],
    ['any origin', { ...base, cors: { origins: ['*'] } }, /an origin must be exact/],
    ['two of one name', { ...base, runner: runnerOf, agents: [agent], tools: [{ ...tool, name: 'a' }] }, /same name/],
    ['a name for people', { ...base, runner: runnerOf({ ...agent, name: 'my agent' }) }, /a name that clients see/],
    ['a schema for nobody', { ...base, outputs: { c: { type: 'object' } as Schema } }, /the name of no agent/],
    ['a long-running tool', { ...base, runner: runnerOf, tools: [longRunning] }, /must give its result itself/],
  ])('refuses %s', (_, options, message) => {
    expect(() => mcpServer(options as McpServerOptions)).toThrow(message)
  })
})

it('is served on loopback only where nobody signs in, and over stdio only then', async () => {
  const open = mcpServer({ runner: runnerOf(agent), store, owner })
  await expect(mcpHttpServer(open, { host: '0.0.0.0' })).rejects.toThrow(/must be a loopback address/)
  const signedIn = mcpServer({ runner: runnerOf(agent), store, authenticate: () => undefined })
  expect(() => serveStdio(signedIn)).toThrow(/nobody signs in here/)
  expect(() => signedIn.serverFor()).toThrow(/needs a visitor/)
  expect(signedIn.serverFor({ user: 'ann' }).isConnected()).toBe(false)
})
