import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Block, blocksOf, importsOf, link, root } from './guide.fixture.ts'
import { refusingVendor } from './refusing-vendor.fixture.ts'

const FAILING = join(import.meta.dirname, 'failing-model.fixture.ts')
const PAGES =
  '{*.md,docs/{,coming-from/,recipes/}*.md,skills/**/*.md,apps/site/pages/*.md,packages/*/README.md,examples/*/README.md}'
const folder = mkdtempSync(join(tmpdir(), 'troupe-failing-'))

/** A program of a page: a block with a top-level `await` that has an agent with a model, in the block or in a file beside it. */
interface Program {
  readonly page: string
  readonly file: string
}

const programs = globSync(PAGES, { cwd: root }).flatMap((page) => {
  const blocks = blocksOf(page).filter(({ kind }) => kind === 'ts' || kind === 'js')
  return blocks.flatMap((block, i): Program[] => {
    const file = nameOf(block, i)
    return isProgram(block) && usesModel(block, blocks) && !isExempt(block) ? [{ page, file }] : []
  })
})

function nameOf({ file, kind }: Block, i: number): string {
  return file ?? `block-${i}.${kind}`
}

function isProgram({ code, file = '' }: Block): boolean {
  if (file.includes('.test.')) return false
  return /^(?:for )?await /m.test(code) || (/\bawait\b/.test(code) && !/^export /m.test(code))
}

function usesModel({ code }: Block, beside: readonly Block[]): boolean {
  if (code.includes("from '@troupe/chat-model'")) return true
  const others = [...code.matchAll(/from '\.\/([\w.-]+)'/g)].map(([, file]) => file)
  return beside.some((block) => block.file !== undefined && others.includes(block.file) && usesModel(block, beside))
}

/** A server or a worker continues when a run fails; another test below checks what its clients see. */
function isExempt({ code }: Block): boolean {
  return ['agUiServer(', 'mcpHttpServer(', 'restateWorker('].some((call) => code.includes(call))
}

/** Writes the files of a page into a folder, with their packages, as an install would. */
function writePage(page: string): string {
  const target = join(folder, page.replaceAll(/\W/g, '_'))
  const blocks = blocksOf(page).filter(({ kind }) => kind === 'ts' || kind === 'js')
  mkdirSync(target, { recursive: true })
  writeFileSync(join(target, 'package.json'), '{ "type": "module" }')
  for (const [i, block] of blocks.entries()) {
    mkdirSync(dirname(join(target, nameOf(block, i))), { recursive: true })
    writeFileSync(join(target, nameOf(block, i)), block.code)
    for (const name of importsOf(block.code)) link(target, name)
  }
  return target
}

/** Runs a program to its end. */
function run(
  cwd: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: unknown; printed: string }> {
  const options = { cwd, env: { PATH: process.env.PATH, ...env }, timeout: 15_000 }
  return new Promise((resolve) => {
    execFile(process.execPath, ['--no-warnings', ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, printed: `${stdout}${stderr}` }),
    )
  })
}

beforeAll(() => {
  for (const page of new Set(programs.map(({ page }) => page))) writePage(page)
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('with a model that fails, a program ends with an exit code and the cause', () => {
  it('there are programs in most guides', () => {
    expect(programs.length).toBeGreaterThan(15)
    const pages = new Set(programs.map(({ page }) => page))
    for (const page of ['README.md', 'docs/getting-started.md', 'docs/two-hundred-lines.md'])
      expect(pages).toContain(page)
  })

  it.each(programs)('$page: $file', async ({ page, file }) => {
    const { code, printed } = await run(join(folder, page.replaceAll(/\W/g, '_')), [
      '--import',
      FAILING,
      file,
      'Hello',
      'again',
    ])
    expect({ code, printed }).toEqual({ code: 1, printed: expect.stringContaining('the model is down') })
    expect(printed).toContain('MODEL_FAILED')
  })

  const examples = globSync('examples/*/src/main.ts', { cwd: root }).filter((path) =>
    readFileSync(join(root, path, '../../package.json'), 'utf8').includes('"@troupe/chat-model"'),
  )
  it.each(examples)('%s', async (path) => {
    const { code, printed } = await run(root, ['--import', FAILING, path])
    expect({ code, printed }).toEqual({ code: 1, printed: expect.stringContaining('the model is down') })
  })
})

describe('a server continues, sends its client an error and logs the cause', () => {
  it.each(['docs/getting-started.md', 'docs/ag-ui.md'])('%s', async (page) => {
    const target = writePage(page)
    const source = readFileSync(join(target, 'server.ts'), 'utf8').replace('port: 8000', 'port: 0')
    writeFileSync(join(target, 'server.ts'), source)
    const args = ['--no-warnings', '--import', FAILING, 'server.ts']
    const env = { PATH: process.env.PATH, PORT: '0', OPENAI_API_KEY: 'key' }
    const server = spawn(process.execPath, args, { cwd: target, env, stdio: ['ignore', 'pipe', 'pipe'] })
    try {
      let log = ''
      server.stderr.on('data', (chunk) => (log += chunk))
      const [line] = (await once(server.stdout, 'data')) as [Buffer]
      const url = String(line).trim()
      const client = readFileSync(join(target, 'client.ts'), 'utf8')
      writeFileSync(join(target, 'client.ts'), client.replace('http://127.0.0.1:8000/agent', url))
      const { code, printed } = await run(target, ['client.ts'])
      expect({ code, printed }).toEqual({
        code: 1,
        printed: expect.stringContaining('MODEL_FAILED: The model could not answer.'),
      })
      expect(log).toContain('the model is down')
      expect(log).toContain('MODEL_FAILED')
      expect(server.exitCode).toBeNull()
    } finally {
      server.kill('SIGKILL')
    }
  })
})

describe('with a vendor that refuses', () => {
  const main = join(root, 'examples/weather/src/main.ts')

  it('the first program of the README says which variable is missing', async () => {
    const { code, printed } = await run(root, [main])
    expect({ code, printed }).toEqual({ code: 1, printed: expect.stringContaining('OPENAI_API_KEY') })
    expect(printed).toContain('MODEL_AUTH_FAILED')
  })

  it.each([
    [401, 'MODEL_AUTH_FAILED'],
    [400, 'MODEL_REQUEST_INVALID'],
  ])('it says that the vendor answered %i', async (status, name) => {
    await using vendor = await refusingVendor(status, 'no')
    const env = { OPENAI_API_KEY: 'wrong', OPENAI_BASE_URL: `${vendor.url}/v1` }
    const { code, printed } = await run(root, [main], env)
    expect({ code, printed }).toEqual({ code: 1, printed: expect.stringContaining(name) })
    expect(printed).toContain(String(status))
  })

  it('the demo in the terminal says it, too', async () => {
    await using vendor = await refusingVendor(401, 'no')
    const env = { OPENAI_API_KEY: 'wrong', OPENAI_BASE_URL: `${vendor.url}/v1`, TROUPE_MODEL: 'openai:gpt-5' }
    const { code, printed } = await run(root, ['apps/console/src/main.ts', 'Hello'], env)
    expect({ code, printed }).toEqual({ code: 1, printed: expect.stringContaining('MODEL_AUTH_FAILED') })
  })
})
