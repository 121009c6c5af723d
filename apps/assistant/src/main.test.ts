import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { afterAll, beforeAll, expect, it } from 'vitest'

const demo = fileURLToPath(new URL('../../../scripts/demo.ts', import.meta.url))
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-demo-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Starts what `pnpm demo` starts. */
function start(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [demo, ...args], {
    env: { PATH: process.env.PATH, TROUPE_DB: join(folder, 'chat.db'), ...env },
  })
  const printed = { out: '', err: '' }
  child.stdout.on('data', (chunk) => (printed.out += chunk))
  child.stderr.on('data', (chunk) => (printed.err += chunk))
  return { child, printed, ended: once(child, 'exit').then(([code]) => ({ code, ...printed })) }
}

it.each(['SIGINT', 'SIGTERM'] as const)(
  'without arguments serves the page, says where, and ends with %s',
  async (signal) => {
    const { child, printed, ended } = start([])
    await expect.poll(() => printed.out, { timeout: 15_000 }).toMatch(/http:\/\/127\.0\.0\.1:\d+\n/)
    const url = /http:\S+/.exec(printed.out)?.[0] ?? ''
    expect(await (await fetch(url)).text()).toContain('<title>Troupe</title>')
    child.kill(signal)
    expect(await ended).toMatchObject({ code: 0, err: '', out: expect.stringContaining('stopping…') })
  },
)

it('with a question or an option is the console', async () => {
  expect((await start(['--help']).ended).out).toContain('--thread')
  expect((await start(['What’s the weather in Beijing?']).ended).out).toContain('● RouterAgent')
})

it('tells what is wrong with its configuration', async () => {
  expect(await start([], { PORT: 'x' }).ended).toMatchObject({ code: 2, err: expect.stringMatching(/^PORT: expected/) })
})

it('tells the cause on its screen when its model fails, and the page that the run failed', async () => {
  const vendor = createServer((_, response) => {
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"Bad key."}}')
  }).listen(0, '127.0.0.1')
  await once(vendor, 'listening')
  const url = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}/v1`
  const model = { TROUPE_MODEL: 'openai:gpt-5', OPENAI_API_KEY: 'wrong', OPENAI_BASE_URL: url }
  const { child, printed, ended } = start([], model)
  try {
    await expect.poll(() => printed.out, { timeout: 15_000 }).toMatch(/http:\/\/127\.0\.0\.1:\d+\n/)
    const agent = new ResumableHttpAgent({ url: `${/http:\S+/.exec(printed.out)?.[0]}/agent`, threadId: 'failing' })
    agent.addMessage({ id: '1', role: 'user', content: 'Hello' })
    const shown: unknown[] = []
    await agent.runAgent({}, { onRunErrorEvent: ({ event }) => void shown.push(event.message) }).catch(() => undefined)
    expect(shown).toEqual(['The run failed.'])
    await expect.poll(() => printed.err).toContain('refuses the key or the account, got 401; check OPENAI_API_KEY')
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0 })
  } finally {
    child.kill('SIGKILL')
    vendor.closeAllConnections()
    vendor.close()
  }
})
