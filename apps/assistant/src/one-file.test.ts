import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const app = resolve(import.meta.dirname, '..')
let copy: string

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'troupe-assistant-'))
  for (const name of ['src', 'package.json']) cpSync(join(app, name), join(copy, name), { recursive: true })
  symlinkSync(join(app, 'node_modules'), join(copy, 'node_modules'))
})
afterEach(() => rmSync(copy, { recursive: true }))

/** Starts the app without its page, asks one question over HTTP, and prints the agents and the answer. */
const PROGRAM = `
import { startAssistant } from './src/assistant.ts'
import { readConfig } from './src/config.ts'
import { createApp } from './src/container.ts'

const app = await createApp(readConfig({ TROUPE_DB: ':memory:', TROUPE_WORD_DELAY_MS: '0' }), '.')
const assistant = await startAssistant(app)
const { tree } = await (await fetch(assistant.url + '/api/about')).json()
console.log(tree.subAgents.map(({ name }) => name).join(' '))
const messages = [{ id: '1', role: 'user', content: 'Write me a haiku' }]
const input = { threadId: 't', runId: 'r', messages, tools: [], context: [], state: {}, forwardedProps: {} }
const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
const response = await fetch(assistant.url + '/agent', { method: 'POST', headers, body: JSON.stringify(input) })
console.log(await response.text())
await assistant.stop(0)
`

function run(): string {
  const args = ['--no-warnings', '--input-type=module', '-e', PROGRAM]
  return execFileSync(process.execPath, args, { cwd: copy, encoding: 'utf8', env: { PATH: process.env.PATH } })
}

it('to add an agent or a handler is one file', () => {
  writeFileSync(
    join(copy, 'src/agents/haiku.ts'),
    `import type { MakeAgent } from '../app.ts'

export const agent: MakeAgent = ({ newAgent }) =>
  newAgent({ name: 'HaikuAgent', description: 'Writes haiku.', instruction: 'You write haiku.' })
`,
  )
  writeFileSync(
    join(copy, 'src/handlers/announce.ts'),
    `import type { MakeHandler } from '../app.ts'

export const handler: MakeHandler = ({ model }) => ({
  name: 'announce',
  beforeAgent: ({ agentName }) => void process.stdout.write(agentName + ' speaks with ' + model.name + '\\n'),
})
`,
  )
  const out = run()
  expect(out).toMatch(/^ChatAgent .*HaikuAgent .*WeatherAgent\n/)
  expect(out).toContain('RouterAgent speaks with demo\n')
  expect(out).toContain('HaikuAgent speaks with demo\n')
  expect(out).toContain('"RUN_FINISHED"')
})
