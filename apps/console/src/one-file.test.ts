import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const app = resolve(import.meta.dirname, '..')
let copy: string

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'troupe-console-'))
  for (const name of ['src', 'package.json']) cpSync(join(app, name), join(copy, name), { recursive: true })
  symlinkSync(join(app, 'node_modules'), join(copy, 'node_modules'))
})
afterEach(() => rmSync(copy, { recursive: true }))

function add(path: string, text: string): void {
  writeFileSync(join(copy, 'src', path), text)
}

function run(...args: string[]): string {
  const options = { cwd: copy, encoding: 'utf8', env: { PATH: process.env.PATH } } as const
  return execFileSync(process.execPath, ['--no-warnings', 'src/main.ts', ...args], options)
}

it('to add an agent is one file', () => {
  expect(run('--agents')).not.toContain('HaikuAgent')
  add(
    'agents/haiku.ts',
    `import type { MakeAgent } from '../app.ts'

export const agent: MakeAgent = ({ newAgent }) =>
  newAgent({ name: 'HaikuAgent', description: 'Writes haiku.', instruction: 'You write haiku.' })
`,
  )
  expect(run('--agents')).toContain('├─ HaikuAgent: Writes haiku.\n')
  expect(run('Write me a haiku')).toContain('→ transfer_to_agent {"agent_name":"HaikuAgent"}')
})

it('to add a handler is one file, and every agent gets it', () => {
  add(
    'handlers/announce.ts',
    `import type { MakeHandler } from '../app.ts'

export const handler: MakeHandler = ({ config }) => ({
  name: 'announce',
  beforeAgent({ agentName }) {
    process.stdout.write(agentName + ' was asked: ' + config.question + '\\n')
  },
})
`,
  )
  const out = run('How is the weather in Oslo?')
  for (const name of ['RouterAgent', 'WeatherAgent']) {
    expect(out).toContain(`${name} was asked: How is the weather in Oslo?\n`)
  }
})

it('a file that is not an agent is named, and nothing starts', () => {
  add('agents/haiku.ts', 'export const agnet = 1\n')
  const { status, stderr, stdout } = spawnSync(process.execPath, ['src/main.ts', 'Hi'], { cwd: copy, encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toBe('agents/haiku.ts: expected an exported function named agent, the file exports agnet\n')
})
