import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { startPostgres, type TestServer } from '../../packages/store-postgres/src/postgres.fixture.ts'
import { type Block, blocksOf } from '../../tests/docs/guide.fixture.ts'
import { type Machine, plainMachine } from './machine.ts'
import { type OpenAi, startOpenAi } from './open-ai.fixture.ts'

const { tree, npmrc } = inject('release')
const folder = mkdtempSync(join(tmpdir(), 'troupe-copy-'))
const app = join(folder, 'my-app')
const blocks = blocksOf('docs/copy-an-app.md')
let user: Machine
let database: TestServer
let vendor: OpenAi
/** The output since the guide last showed some. */
let printed = ''

beforeAll(async () => {
  ;[database, vendor] = await Promise.all([startPostgres(), startOpenAi('right-key', 'Roses are red.')])
  user = plainMachine(join(folder, 'user'), npmrc)
  symlinkSync(tree, join(folder, 'troupe'))
})

afterAll(async () => {
  await database?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** Does what a reader does with a block: writes the file, types the commands, compares the output. */
async function read({ kind, code, file }: Block): Promise<void> {
  if (kind === 'sh') {
    const output = await type(code.includes('cd my-app') ? folder : app, code)
    // The guide does not show the output of npm, the compiler and the tests.
    if (!/^np[mx] .*$/m.test(code) || code.includes('node src')) printed += output
  } else if (kind === 'text') {
    expect(withoutFigures(printed)).toBe(withoutFigures(code))
    printed = ''
  } else if (file) {
    mkdirSync(dirname(join(app, file)), { recursive: true })
    writeFileSync(join(app, file), code)
  } else throw new Error(`The guide has a block that is neither a file, nor commands, nor output: ${code}`)
}

/** Types commands into a shell, with this key where a command needs one. */
async function type(cwd: string, commands: string, key = 'right-key'): Promise<string> {
  const env = [`DATABASE_URL='${database.url}'`, `OPENAI_BASE_URL='${vendor.url}'`]
  const script = `set -e\nexport ${env.join(' ')}\n${commands.replace('OPENAI_API_KEY=…', `OPENAI_API_KEY=${key}`)}`
  return await user.run(cwd, 'sh', '-c', script)
}

/** Replaces times and token counts, which differ from run to run. */
function withoutFigures(text: string): string {
  return text.replaceAll(/\d+ (ms|tokens in)|(?<=, )\d+ out/g, (figure) => figure.replace(/\d+/, 'N'))
}

it.each([...new Set(blocks.map(({ section }) => section))])('copy an app: %s', async (section) => {
  for (const block of blocks) if (block.section === section) await read(block)
})

it('the app keeps its conversations where the guide put them', async () => {
  const tables = await database.ask("select table_name from information_schema.tables where table_schema = 'my_app'")
  expect(tables.length).toBeGreaterThan(3)
})

it('the app asks the model that the guide put in, and prints its answer', () => {
  expect(vendor.models).toEqual(['gpt-5'])
  expect(printed).toContain('(openai:gpt-5 model)')
  expect(printed).toContain('  Roses are red.\n')
})

it.each([
  ['OPENAI_API_KEY=… node src/main.ts "Hi"', /ended with 1\n.*✗ MODEL_AUTH_FAILED: .* refuses the key .*got 401/s],
  ['node src/main.ts "Hi"', /ended with 1\n.*✗ MODEL_AUTH_FAILED: .*OPENAI_API_KEY/s],
])('the app ends with 1 and says why if the key is wrong or missing: %s', async (command, cause) => {
  await expect(type(app, command, 'wrong-key')).rejects.toThrow(cause)
})

it('the app does not compile with a dependency that it does not have', async () => {
  const [poem] = blocks.filter(({ file }) => file === 'src/agents/poem.ts')
  writeFileSync(join(app, 'src/agents/poem.ts'), poem?.code.replaceAll('newAgent', 'newAgnet') ?? '')
  await expect(type(app, 'npx tsc')).rejects.toThrow(
    /src\/agents\/poem\.ts.*Property 'newAgnet' does not exist on type 'App'/,
  )
})
