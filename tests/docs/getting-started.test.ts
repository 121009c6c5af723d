import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Block, blocksOf, link } from './guide.fixture.ts'

/** The address in the guide, which the test replaces by a free one. */
const SHOWN = 'http://127.0.0.1:8000'

/** Does what a reader of the guide does, in an empty folder. */
class Reader {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'troupe-guide-'))
  readonly #servers: ChildProcess[] = []
  #url = SHOWN
  #printed = ''

  async read({ kind, code, file }: Block): Promise<void> {
    if (kind === 'sh') for (const line of code.trim().split('\n')) await this.#type(line)
    else if (kind === 'text') this.#compare(code)
    else if (file)
      writeFileSync(join(this.folder, file), code.replaceAll(SHOWN, this.#url).replace('port: 8000', 'port: 0'))
  }

  async #type(line: string): Promise<void> {
    const [command = '', ...words] = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word ?? '',
    )
    if (line.startsWith('npm install ')) {
      for (const name of words.slice(1)) if (!name.startsWith('--')) link(this.folder, name)
    } else if (line === 'npm pkg set type=module') {
      writeFileSync(join(this.folder, 'package.json'), '{ "type": "module" }')
    } else if (line === 'node server.ts') await this.#serve()
    else if (line === 'npx vite')
      this.#run(join('node_modules', 'vite', 'bin', 'vite.js'), ['build', '--logLevel', 'error'])
    else if (command === 'node') this.#printed += this.#run(words[0] ?? '', words.slice(1))
    // A test needs neither the folder, nor the manifest, nor a vendor's key.
    else expect(line).toMatch(/^(mkdir|cd) my-agent$|^npm init -y$|^OPENAI_API_KEY=/)
  }

  #run(file: string, words: readonly string[]): string {
    const args = ['--no-warnings', file, ...words]
    return execFileSync(process.execPath, args, { cwd: this.folder, encoding: 'utf8', timeout: 15_000 })
  }

  async #serve(): Promise<void> {
    const stdio = ['ignore', 'pipe', 'inherit'] as const
    const server = spawn(process.execPath, ['--no-warnings', 'server.ts'], { cwd: this.folder, stdio: [...stdio] })
    this.#servers.push(server)
    const [line] = (await once(server.stdout as NonNullable<typeof server.stdout>, 'data')) as [Buffer]
    this.#url = new URL(String(line)).origin
    this.#printed += String(line).replace(this.#url, SHOWN)
  }

  /** Compares the output that the guide shows with the output since the last comparison. */
  #compare(shown: string): void {
    expect(this.#printed).toBe(shown)
    this.#printed = ''
  }

  /** Stops the servers. Contract: each ends by itself after SIGTERM. */
  async end(): Promise<void> {
    for (const server of this.#servers) {
      const ended = once(server, 'exit')
      server.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
    }
    expect(this.#printed).toBe('')
  }

  /** Removes everything, also after a failed step. */
  cleanUp(): void {
    for (const server of this.#servers) server.kill('SIGKILL')
    rmSync(this.folder, { recursive: true })
  }
}

const blocks = blocksOf('docs/getting-started.md')
let reader: Reader

beforeAll(() => {
  reader = new Reader()
})
afterAll(() => reader.cleanUp())

it.each([...new Set(blocks.map(({ section }) => section))])('getting started: %s', async (section) => {
  for (const block of blocks) if (block.section === section) await reader.read(block)
})

it('the page of the guide was built, and its server ends in order', async () => {
  expect(existsSync(join(reader.folder, 'dist/index.html'))).toBe(true)
  expect(readdirSync(join(reader.folder, 'dist/assets'))).toEqual([expect.stringMatching(/\.js$/)])
  await reader.end()
})
