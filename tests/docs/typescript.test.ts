import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { blocksOf, importsOf, link, root } from './guide.fixture.ts'

const blocks = blocksOf('docs/typescript.md')
const configs = blocks.filter(({ kind, file }) => kind === 'json' && file === 'tsconfig.json')
const guide = blocksOf('docs/getting-started.md')
const agents = guide.filter(({ file = '' }) => /^(hello|stream|desk|weather)\.ts$/.test(file))
agents.push(...guide.filter(({ file }) => file === 'model.ts').slice(0, 1))
const pages = guide.filter(({ file }) => file?.endsWith('.tsx'))
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-typescript-'))
  write('package.json', '{ "type": "module" }')
  link(folder, '@types/node')
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(file: string, code: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), code)
  for (const name of importsOf(code.replaceAll(/require\((.*?)\)/g, 'from $1'))) link(folder, name)
}

function compile(): string {
  try {
    return execFileSync(join(root, 'node_modules/.bin/tsc'), { cwd: folder, encoding: 'utf8' })
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

describe.each(configs)('the tsconfig of "$section"', ({ code, section }) => {
  it('compiles the programs of the first guide as they are printed', () => {
    write('tsconfig.json', code)
    for (const { file = '', code } of section.includes('bundler') ? [...agents, ...pages] : agents) write(file, code)
    for (const name of ['react', 'react-dom']) link(folder, `@types/${name}`)
    expect(compile()).toBe('')
  }, 60_000)

  it('refuses a wrong type of a tool', () => {
    write('tsconfig.json', code)
    write(
      'wrong.ts',
      `import { defineTool } from '@troupe/kernel'
      defineTool({
        name: 'add',
        description: '',
        parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
        invoke: ({ a }) => a.toUpperCase(),
      })`,
    )
    expect(compile()).toMatch(/^wrong\.ts\(6,.*'toUpperCase' does not exist on type 'number'/m)
  })
})

it('there is one for Node and one for bundlers, and the first is the one of the first journey', () => {
  expect(configs).toHaveLength(2)
  const [journey] = blocksOf('docs/install-only-what-you-need.md').filter(({ file }) => file === 'tsconfig.json')
  expect(journey?.code).toBe(configs[0]?.code)
})

it.each([
  ['main.mjs', 'add\n'],
  ['main.cjs', 'Hi\n'],
])('%s runs in plain JavaScript', (file, printed) => {
  const block = blocks.find((block) => block.file === file)
  write(file, block?.code ?? '')
  expect(execFileSync(process.execPath, ['--no-warnings', file], { cwd: folder, encoding: 'utf8' })).toBe(printed)
})
