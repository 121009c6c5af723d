import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ResumableHttpAgent } from '../../packages/ag-ui/src/client.ts'
import { blocksOf, importsOf, link } from './guide.fixture.ts'

/** Starts the servers of the guide, each on a free port, and prints their addresses. */
const MAIN = `
import { createServer } from 'node:http'
import express from 'express'
import { agUiHandler } from '@troupe/ag-ui'
import { toNodeListener } from '@troupe/ag-ui/node'
import { runner } from '@troupe/flow'
import { say } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { withExpress } from './with-express.ts'
import { withFastify } from './with-fastify.ts'
import { withHono } from './with-hono.ts'

const agent = { name: 'Greeter', description: 'Greets.', run: (_, ctx) => say(ctx, 'Hello!') }
const handlerAt = (path) => {
  const store = memoryStore()
  return agUiHandler({ runner: runner({ agent, store }), store, owner: { app: 'demo', user: 'me' }, path })
}
const listening = async (server) => {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}
const app = withFastify(handlerAt('/api/agent'))
await app.ready()
const hono = withHono(handlerAt('/api/agent'))
// A server of Node for a fetch-style app is not part of the guide.
const bridge = toNodeListener(Object.assign((request) => Promise.resolve(hono.fetch(request)), { authenticates: false }))
// Something that reads the body and keeps it for itself.
const greedy = toNodeListener(handlerAt('/'))
const parsedAs = (kind) => express().use(express[kind]({ type: '*/*' }), toNodeListener(handlerAt('/')))
console.log(JSON.stringify({
  raw: await listening(createServer(parsedAs('raw'))),
  text: await listening(createServer(parsedAs('text'))),
  json: await listening(createServer(parsedAs('json'))),
  express: await listening(createServer(withExpress(handlerAt('/')))),
  fastify: Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port),
  hono: await listening(createServer(bridge)),
  greedy: await listening(createServer((request, response) => {
    request.resume().on('end', () => greedy(request, response))
  })),
}))
`

let folder = ''
let servers: ChildProcess | undefined
let ports: Record<string, number> = {}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-servers-'))
  const blocks = blocksOf('docs/ag-ui.md').filter(({ file }) => file?.startsWith('with-'))
  for (const { file = '', code } of [...blocks, { file: 'main.ts', code: `// @ts-nocheck\n${MAIN}` }]) {
    writeFileSync(join(folder, file), code)
    for (const name of importsOf(code)) link(folder, name)
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  servers = spawn(process.execPath, ['--no-warnings', 'main.ts'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(servers.stdout as NonNullable<typeof servers.stdout>, 'data')) as [Buffer]
  ports = JSON.parse(String(line))
})
afterAll(() => {
  servers?.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

test.each(['express', 'fastify', 'hono'])('the handler works in %s, below a path', async (name) => {
  const agent = new ResumableHttpAgent({ url: `http://127.0.0.1:${ports[name]}/api/agent`, threadId: 't1' })
  agent.addMessage({ id: '1', role: 'user', content: 'Hi' })
  await agent.runAgent()
  expect(agent.messages.at(-1)?.content).toBe('Hello!')
  const reloaded = new ResumableHttpAgent({ url: agent.url, threadId: 't1' })
  await reloaded.connectAgent()
  expect(reloaded.messages.map(({ content }) => content)).toEqual(['Hi', 'Hello!'])
})

test.each(['express', 'fastify', 'hono'])('a long conversation goes on in %s', async (name) => {
  const agent = new ResumableHttpAgent({ url: `http://127.0.0.1:${ports[name]}/api/agent`, threadId: 'long' })
  agent.addMessage({ id: '1', role: 'user', content: 'a'.repeat(1_000_000) })
  await agent.runAgent()
  agent.addMessage({ id: '2', role: 'user', content: 'a'.repeat(1_000_000) })
  await agent.runAgent()
  expect(agent.messages.at(-1)?.content).toBe('Hello!')
})

test.each(['raw', 'text', 'json'])('the body is taken from the %s parser of Express', async (kind) => {
  const agent = new ResumableHttpAgent({ url: `http://127.0.0.1:${ports[kind]}`, threadId: 't1' })
  agent.addMessage({ id: '1', role: 'user', content: 'Grüß dich' })
  await agent.runAgent()
  const reloaded = new ResumableHttpAgent({ url: agent.url, threadId: 't1' })
  await reloaded.connectAgent()
  expect(reloaded.messages.map(({ content }) => content)).toEqual(['Grüß dich', 'Hello!'])
})

test('a body that something else has read is an error that says so', async () => {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${ports.greedy}/`, { method: 'POST', headers, body: '{}' })
  expect([response.status, await response.json()]).toMatchObject([500, { code: 'BODY_ALREADY_READ' }])
})
