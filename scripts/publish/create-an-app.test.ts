import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { startPostgres, type TestServer } from '../../packages/store-postgres/src/postgres.fixture.ts'
import { type Block, blocksOf } from '../../tests/docs/guide.fixture.ts'
import { type Machine, plainMachine } from './machine.ts'
import { type OpenAi, startOpenAi } from './open-ai.fixture.ts'

const { npmrc } = inject('release')
const folder = mkdtempSync(join(tmpdir(), 'troupe-create-'))
const app = join(folder, 'my-app')
const blocks = blocksOf('docs/create-an-app.md')
let user: Machine
let database: TestServer
let vendor: OpenAi
/** The output since the guide last showed some. */
let printed = ''

beforeAll(async () => {
  ;[database, vendor] = await Promise.all([startPostgres(), startOpenAi('right-key', 'Roses are red.')])
  user = plainMachine(join(folder, 'user'), `${npmrc}prefer-offline=true\n`)
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
    if (code.includes('npm start')) printed += withoutScript(output)
  } else if (kind === 'text') {
    expect(printed).toBe(code)
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

/** Leaves out what npm prints before a script: its name and its command. */
function withoutScript(text: string): string {
  return text.replaceAll(/^\n> .*\n> .*\n\n/gm, '')
}

it.each([...new Set(blocks.map(({ section }) => section))])('create an app: %s', async (section) => {
  for (const block of blocks) if (block.section === section) await read(block)
})

it('the app keeps its conversations where the guide put them', async () => {
  const threads = await database.ask('select thread_id from my_app.troupe_threads order by thread_id')
  expect(threads.map(({ thread_id }) => thread_id)).toEqual(['holiday', 'main'])
})

it('the app asks the model of the guide, and prints its answer', () => {
  expect(vendor.models).toEqual(['gpt-5'])
  expect(printed).toBe('[desk]\nRoses are red.\n')
})

it('the app ends with 1 and says why if the key is wrong', async () => {
  const command = 'OPENAI_API_KEY=… npm start -- --thread other "Hi"'
  await expect(type(app, command, 'wrong-key')).rejects.toThrow(
    /ended with 1\n.*✗ MODEL_AUTH_FAILED: .* refuses the key .*got 401/s,
  )
})

it('the app does not compile with a dependency that it does not have', async () => {
  const [poems] = blocks.filter(({ file }) => file === 'src/agents/poems.ts')
  writeFileSync(join(app, 'src/agents/poems.ts'), poems?.code.replaceAll('newAgent', 'newAgnet') ?? '')
  await expect(type(app, 'npx tsc')).rejects.toThrow(/src\/agents\/poems\.ts.*"newAgnet"/s)
})
