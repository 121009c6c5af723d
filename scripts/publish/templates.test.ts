import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { type Machine, plainMachine } from './machine.ts'

const { npmrc, tree } = inject('release')
const folder = mkdtempSync(join(tmpdir(), 'troupe-templates-'))
const started: ChildProcessWithoutNullStreams[] = []
let user: Machine

beforeAll(() => {
  user = plainMachine(join(folder, 'user'), `${npmrc}prefer-offline=true\n`)
})

afterAll(async () => {
  for (const child of started) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(folder, { recursive: true })
})

/** An app that was started as `npm start` does. */
interface StartedApp {
  /** Waits for a text, after what was waited for before; gives what the app has printed up to it. */
  until(text: string): Promise<string>
  type(line: string): void
  /** Sends a signal and gives the exit code. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

/** Starts an app by its script, without npm, which would keep signals to itself. */
function start(name: string, env: Record<string, string> = {}): StartedApp {
  const app = join(folder, name)
  const { scripts } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))
  const child = user.start(app, env, 'sh', '-c', `exec ${scripts.start}`)
  started.push(child)
  let printed = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  return {
    async until(text) {
      while (!printed.includes(text)) {
        const [event] = await Promise.race([once(child.stdout, 'data'), once(child, 'close').then(() => ['closed'])])
        if (event === 'closed' && !printed.includes(text)) {
          throw new Error(`${name} ended before it printed ${text}\n${printed}\n${errors}`)
        }
      }
      const end = printed.indexOf(text) + text.length
      const before = printed.slice(0, end)
      printed = printed.slice(end)
      return before
    },
    type: (line) => void child.stdin.write(`${line}\n`),
    async stop(signal) {
      const ended = once(child, 'close')
      child.kill(signal)
      const [code] = await ended
      return code
    },
  }
}

/** Uses each app over its real interface, and gives its exit code after a signal. */
const USES: Record<string, { readonly options: readonly string[]; use(name: string): Promise<number | null> }> = {
  console: {
    options: ['--model', 'anthropic'],
    async use(name) {
      const app = join(folder, name)
      const asked = "printf 'y\\n' | npm start -- 'Remember to buy milk'"
      expect(await user.run(app, 'sh', '-c', asked)).toContain('Noted: to buy milk\n')
      const talk = start(name)
      await talk.until('The demo model answers.')
      talk.type('What are my notes?')
      await talk.until('- to buy milk\n')
      return talk.stop('SIGINT')
    },
  },
}

it('every template is tried here', () => {
  const templates = readdirSync(join(tree, 'templates'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(templates.map(({ name }) => name).sort()).toEqual(Object.keys(USES).sort())
})

it.each(Object.entries(USES))(
  'the template %s is made, installed, checked, tested, used and stopped',
  async (template, { options, use }) => {
    const times: string[] = []
    const timed = async <Result>(what: string, work: Promise<Result>): Promise<Result> => {
      const begin = performance.now()
      const result = await work
      times.push(`${what} ${((performance.now() - begin) / 1000).toFixed(1)} s`)
      return result
    }
    const name = `my-${template}`
    const app = join(folder, name)
    mkdirSync(folder, { recursive: true })
    const args = ['create', 'troupe', name, '--', '--template', template, ...options]
    expect(await timed('make', user.run(folder, 'npm', ...args))).toContain(`Made ${name} in ${name}`)
    await timed('install', user.run(app, 'npm', 'install'))
    expect(await timed('types', user.run(app, 'npx', 'tsc'))).toBe('')
    expect(await timed('tests', user.run(app, 'npm', 'test'))).toMatch(/Tests .*passed/)
    expect(await timed('use', use(name))).toBe(0)
    console.log(`${template}: ${times.join(', ')}`)
  },
)
