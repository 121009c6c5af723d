import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { blocksOf, link } from './guide.fixture.ts'

/** Replaces the model of the guide, which needs a key: it calls the tool that the user mentions. */
const MODEL = `
import { textOf } from '@troupe/kernel'
const usage = { inputTokens: 1, outputTokens: 1 }
const calls = { milk: ['add_item', '{"item":"milk"}'], dark: ['set_theme', '{"theme":"dark"}'], Order: ['order', '{}'] }
export const model = {
  name: 'stand-in',
  async *stream({ messages }) {
    const last = messages.at(-1)
    const word = Object.keys(calls).find((word) => textOf(last.content).includes(word))
    if (last.role === 'user' && word) {
      const callId = crypto.randomUUID()
      yield { type: 'tool-call-start', callId, name: calls[word][0] }
      yield { type: 'tool-call-delta', callId, delta: calls[word][1] }
      yield { type: 'tool-call-end', callId }
      return yield { type: 'finish', reason: 'tool-calls', usage }
    }
    yield { type: 'text-delta', delta: textOf(last.content) }
    yield { type: 'finish', reason: 'stop', usage }
  },
}
`

let folder = ''
let server: ChildProcess | undefined
let url = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-ag-ui-'))
  for (const { file, code } of blocksOf('docs/ag-ui.md')) if (file) writeFileSync(join(folder, file), code)
  writeFileSync(join(folder, 'model.ts'), `// @ts-nocheck\n${MODEL}`)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const ours = ['kernel', 'chat-model', 'flow', 'ag-ui', 'store-sqlite'].map((name) => `@troupe/${name}`)
  for (const name of [...ours, '@ag-ui/client']) link(folder, name)
  server = spawn(process.execPath, ['--no-warnings', 'server.ts'], {
    cwd: folder,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(server.stdout as NonNullable<typeof server.stdout>, 'data')) as [Buffer]
  url = String(line).trim()
})
afterAll(() => {
  server?.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

it('the client of the guide shares state, runs a tool of the page and answers a question', () => {
  const printed = execFileSync(process.execPath, ['--no-warnings', 'client.ts'], {
    cwd: folder,
    env: { ...process.env, AGENT_URL: url },
    encoding: 'utf8',
    timeout: 15_000,
  })
  const lines = printed.trim().split('\n')
  expect(lines.filter((line) => !line.startsWith('list:'))).toEqual([
    'milk is on the list.',
    'The page is dark now.',
    expect.stringMatching(/^question: .*order/i),
    'Ordered: ["bread","milk"]',
  ])
  expect(lines.filter((line) => line.startsWith('list:'))).toContain("list: [ 'bread', 'milk' ]")
})

it('only the user who began the conversation gets in', async () => {
  const status = async (headers: Record<string, string>) => (await fetch(`${url}/threads/today`, { headers })).status
  expect([await status({ 'x-user': 'ann' }), await status({ 'x-user': 'bob' }), await status({})]).toEqual([
    200, 404, 401,
  ])
})

it('the server of the guide ends in order', async () => {
  const ended = server && once(server, 'exit')
  server?.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})
