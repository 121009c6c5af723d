import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import type { ChatModel } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { asValue } from 'awilix'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { describeRuns, readConfig, readWorkerConfig } from './config.ts'
import { closeParts, createApp } from './container.ts'
import type { Log } from './log.ts'
import { openTelemetry } from './open-telemetry.ts'
import { type Service, serve } from './serve.ts'
import { tokensWith } from './tokens.ts'

const { tokenOf } = tokensWith('secret')
let folder: string
const open: AsyncDisposable[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cluster-'))
})
afterEach(async () => {
  for (const replica of open.splice(0)) await replica[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

/** A replica with the store that all of them share, and what it has logged. */
async function replica(model: ChatModel): Promise<Service & { readonly logged: string[] }> {
  const logged: string[] = []
  const log: Log = { write: (message) => void logged.push(message), report: ({ code }) => void logged.push(code) }
  const env = { DATABASE_FILE: join(folder, 'app.db'), PORT: '0', TOKEN_SECRET: 'secret' }
  const app = createApp(readConfig(env), await openTelemetry({}), log)
  app.register({ model: asValue(model) })
  const service = await serve(app.cradle)
  open.push({
    async [Symbol.asyncDispose]() {
      await service.stop(0)
      await closeParts(app.cradle)
    },
  })
  return { ...service, logged }
}

const client = ({ url }: Service, threadId: string, user = 'ann') =>
  new ResumableHttpAgent({ url, threadId, headers: { authorization: `Bearer ${tokenOf(user)}` } })
const say = async (agent: ResumableHttpAgent, content: string) => {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  await agent.runAgent()
}
const pay = { toolCalls: [{ name: 'pay_invoice', arguments: { invoice: 7 } }] }

test('a conversation that began on one replica goes on through another', async () => {
  const [a, b] = await Promise.all([replica(scriptedModel(['Hello Ann.'])), replica(scriptedModel(['You are Ann.']))])
  await say(client(a, 'talk'), 'I am Ann.')
  const second = client(b, 'talk')
  await second.connectAgent()
  await say(second, 'Who am I?')
  expect(second.messages.map(({ content }) => content)).toEqual([
    'I am Ann.',
    'Hello Ann.',
    'Who am I?',
    'You are Ann.',
  ])
})

test.each([
  { approved: true, result: 'Invoice 7 is paid: 310 euros.' },
  { approved: false, result: 'The user refused this call.' },
])('a question that one replica asked is answered through another: $approved', async ({ approved, result }) => {
  const [a, b] = await Promise.all([replica(scriptedModel([pay])), replica(scriptedModel(['Done.']))])
  await say(client(a, 'pay'), 'Pay invoice 7')
  const answering = client(b, 'pay')
  await answering.connectAgent()
  const resume = answering.pendingInterrupts.map(({ id: interruptId }) => {
    return { interruptId, status: 'resolved' as const, payload: { approved } }
  })
  await answering.runAgent({ resume })
  expect(answering.messages.slice(-2)).toMatchObject([{ role: 'tool', content: result }, { content: 'Done.' }])
})

test('a user finds only their own conversations, and without a user the answer is 401', async () => {
  const a = await replica(scriptedModel(['Hello.']))
  await say(client(a, 'talk'), 'Hi')
  const status = async (headers: Record<string, string>) => (await fetch(`${a.url}/threads/talk`, { headers })).status
  expect(await status({ authorization: `Bearer ${tokenOf('ann')}` })).toBe(200)
  expect(await status({ authorization: `Bearer ${tokenOf('bob')}` })).toBe(404)
  expect(await status({ authorization: `Bearer ${tokenOf('ann').replace('ann', 'bob')}` })).toBe(401)
  expect(await status({})).toBe(401)
})

test('a replica is healthy until it is told to stop, and closes in order', async () => {
  const a = await replica(scriptedModel([]))
  expect((await fetch(new URL('/health', a.url))).status).toBe(204)
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]()
  expect(a.logged).toEqual(['ready', 'stopped', 'closed'])
  await expect(fetch(new URL('/health', a.url))).rejects.toThrow()
})

describe('the settings', () => {
  test('without any, one replica serves this machine', () => {
    const config = readConfig({})
    expect(config).toMatchObject({ host: '127.0.0.1', port: 8000, database: { type: 'sqlite', path: 'app.db' } })
    expect(describeRuns(config)).toMatchObject({
      store: expect.stringContaining('one replica'),
      runs: expect.stringContaining('lostRuns'),
    })
  })

  test('with a database and Restate, workers carry runs out', () => {
    const env = { DATABASE_URL: 'postgres://localhost/app', RESTATE_INGRESS: 'http://restate:8080' }
    expect(describeRuns(readConfig(env)).runs).toContain('Restate')
    expect(readWorkerConfig(env)).toMatchObject({ ingress: undefined, workers: 'http://127.0.0.1:9080' })
  })

  test.each([
    [{ RESTATE_INGRESS: 'http://restate:8080' }, 'RESTATE_INGRESS needs DATABASE_URL'],
    [{ PORT: 'high' }, 'PORT must be a port, got high'],
  ])('%j is refused', (env, message) => {
    expect(() => readConfig(env)).toThrow(message)
  })

  test('a worker needs the database of the servers', () => {
    expect(() => readWorkerConfig({})).toThrow('DATABASE_URL is missing')
  })

  test('a server without sign-in is not reached from other machines', async () => {
    const config = { ...readConfig({ DATABASE_FILE: join(folder, 'app.db') }), host: '0.0.0.0', port: 0 }
    const app = createApp(config, await openTelemetry({}), { write: () => {}, report: () => {} })
    await expect(serve(app.cradle)).rejects.toThrow(/without authenticate, host must be a loopback address/)
    await closeParts(app.cradle)
  })
})
