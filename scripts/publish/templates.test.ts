import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
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
  let [printed, errors] = ['', '']
  let isClosed = false
  /** Called when there is something new. */
  let look = () => {}
  child.stdout.on('data', (chunk) => {
    printed += chunk
    look()
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  child.once('close', () => {
    isClosed = true
    look()
  })
  return {
    async until(text) {
      while (!printed.includes(text)) {
        if (isClosed) throw new Error(`${name} ended before it printed ${text}\n${printed}\n${errors}`)
        await new Promise<void>((resolve) => {
          look = resolve
        })
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

/** How a template is tried. */
interface Use {
  /** What stands before the options. @default ['--'] */
  readonly separator?: readonly string[]
  readonly options: readonly string[]
  use(name: string): Promise<number | null>
}

/** Uses each app over its real interface, and gives its exit code after a signal. */
const USES: Record<string, Use> = {
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
  team: {
    // npm takes options before a -- for its own and warns; they count all the same.
    separator: [],
    options: ['--model', 'google', '--store', 'memory'],
    async use(name) {
      const talk = start(name)
      await talk.until('The demo model answers.')
      talk.type('Refund order 1002')
      await talk.until('? Allow refund_order?')
      talk.type('always')
      expect(await talk.until('Order 1002 is paid back')).toContain('[desk › orders]')
      talk.type('A book about the sea')
      expect(await talk.until('Moby-Dick, by Herman Melville')).toContain('[desk › books › researcher]')
      return talk.stop('SIGTERM')
    },
  },
  mcp: {
    options: ['--model', 'ollama'],
    async use(name) {
      const app = join(folder, name)
      const asked = "printf 'y\\n' | npm run ask -- 'Order tomatoes'"
      expect(await user.run(app, 'sh', '-c', asked)).toContain('Ordered: tomatoes\n')
      expect(readFileSync(join(app, 'orders.txt'), 'utf8')).toBe('tomatoes\n')
      const server = start(name, { PORT: '0' })
      const [, url = ''] = /The agent is at (\S+);/.exec(await server.until('Ctrl-C stops it.')) ?? []
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
      await client.connect(new StreamableHTTPClientTransport(new URL(url)))
      const { content } = await client.callTool({
        name: 'housekeeper',
        arguments: { message: 'What is in the pantry?' },
      })
      expect(content[0]).toMatchObject({ text: expect.stringContaining('"lentils":1') })
      await client.close()
      return server.stop('SIGTERM')
    },
  },
  chat: {
    options: ['--model', 'openai'],
    async use(name) {
      const server = start(name, { PORT: '0' })
      const [url = ''] = /^http\S+/.exec(await server.until('Ctrl-C stops the app)')) ?? []
      const page = await (await fetch(url)).text()
      const [, script = ''] = /src="(\/[^"]+\.js)"/.exec(page) ?? []
      expect(await (await fetch(new URL(script, url))).text()).toContain('troupe-')
      const asked = { id: 'm1', role: 'user', content: 'Books about cooking' }
      const answer = await fetch(`${url}/agent`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: 't1', runId: 'r1', messages: [asked], tools: [], context: [], state: {} }),
      })
      expect(await answer.text()).toMatch(/search_books.*cooking.*RUN_FINISHED/is)
      return server.stop('SIGTERM')
    },
  },
  cluster: {
    options: ['--model', 'openai'],
    async use(name) {
      const server = start(name, { PORT: '0' })
      const ready = JSON.parse((await server.until('\n')).trim())
      expect(ready).toMatchObject({ message: 'ready', store: expect.stringContaining('one replica') })
      const asked = `printf 'y\\n' | npm run ask -- --url ${ready.url} 'Pay invoice 7'`
      expect(await user.run(join(folder, name), 'sh', '-c', asked)).toContain('Invoice 7 is paid: 310 euros.\n')
      const code = await server.stop('SIGTERM')
      await server.until('{"message":"closed"}')
      return code
    },
  },
}

it('every template is tried here', () => {
  const templates = readdirSync(join(tree, 'templates'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(templates.map(({ name }) => name).sort()).toEqual(Object.keys(USES).sort())
})

it.each(Object.entries(USES))(
  'the template %s is made, installed, checked, tested, used and stopped',
  async (template, { separator = ['--'], options, use }) => {
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
    const args = ['create', 'troupe', name, ...separator, '--template', template, ...options]
    expect(await timed('make', user.run(folder, 'npm', ...args))).toContain(`Made ${name} in ${name}`)
    await timed('install', user.run(app, 'npm', 'install'))
    await timed('types', user.run(app, 'npm', 'run', 'typecheck'))
    expect(await timed('tests', user.run(app, 'npm', 'test'))).toMatch(/Tests .*passed/)
    expect(await timed('use', use(name))).toBe(0)
    console.log(`${template}: ${times.join(', ')}`)
  },
)
