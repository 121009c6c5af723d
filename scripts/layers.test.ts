import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const command = (name: string) => join(root, 'node_modules/.bin', name)
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-layers-'))
  plant({
    'package.json': '{ "type": "module" }',
    'packages/kernel/src/index.ts': 'export const kernel = 1\n',
    'packages/flow/src/index.ts': "export { kernel } from '../../kernel/src/index.ts'\n",
    'packages/http/src/index.ts': 'export const http = 1\n',
    'packages/http/src/node.ts': 'export const node = 1\n',
    'packages/store-sql/src/index.ts': 'export const sql = 1\n',
    'packages/ag-ui/src/client.ts': 'export const client = 1\n',
    'packages/durable/src/index.ts': 'export const durable = 1\n',
    'packages/testkit/src/index.ts': "export { kernel } from '../../kernel/src/index.ts'\n",
    'packages/create-plugin/src/command.ts': 'export const command = 1\n',
    'packages/create-app/src/command.ts': "import '../../create-plugin/src/command.ts'\n",
    'templates/console/src/main.ts': "import 'awilix'\n",
    'tests/docs/guide.fixture.ts': 'export const guide = 1\n',
    'apps/console/src/main.ts': "import 'awilix'\nimport '../../../packages/flow/src/index.ts'\n",
    ...library('awilix'),
    ...library('zod'),
  })
})

afterEach(() => rmSync(folder, { recursive: true }))

function plant(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

function library(name: string): Record<string, string> {
  return {
    [`node_modules/${name}/package.json`]: JSON.stringify({
      name,
      version: '1.0.0',
      type: 'module',
      exports: './index.js',
    }),
    [`node_modules/${name}/index.js`]: 'export {}\n',
  }
}

/** The names of the rules that the planted tree breaks. */
function broken(): string[] {
  const args = [
    'packages',
    'apps',
    'templates',
    '--config',
    join(root, '.dependency-cruiser.mjs'),
    '--output-type',
    'json',
  ]
  const print = (): string => {
    try {
      return execFileSync(command('depcruise'), args, { cwd: folder, encoding: 'utf8' })
    } catch (error) {
      return (error as { stdout: string }).stdout
    }
  }
  const { summary } = JSON.parse(print()) as { summary: { violations: { rule: { name: string } }[] } }
  return [...new Set(summary.violations.map(({ rule }) => rule.name))]
}

describe('layering', () => {
  it('holds for a tree that keeps the rules', () => {
    expect(broken()).toEqual([])
  })

  it.each<[string, Record<string, string>]>([
    ['kernel-imports-nothing', { 'packages/kernel/src/index.ts': "import 'zod'\n" }],
    ['kernel-imports-nothing', { 'packages/kernel/src/index.ts': "import 'node:crypto'\n" }],
    ['plugin-imports-kernel-only', { 'packages/chat-model/src/index.ts': "import '../../flow/src/index.ts'\n" }],
    [
      'plugin-imports-kernel-only',
      { 'packages/flow/src/index.ts': "import type { kernel } from '../../testkit/src/index.ts'\n" },
    ],
    ['create-app-bundles-create-plugin', { 'packages/create-app/src/main.ts': "import '../../kernel/src/index.ts'\n" }],
    ['templates-stand-alone', { 'templates/team/src/main.ts': "import '../../../apps/console/src/main.ts'\n" }],
    ['store-sql-is-for-the-stores', { 'packages/flow/src/index.ts': "import '../../store-sql/src/index.ts'\n" }],
    ['http-is-for-the-servers', { 'packages/flow/src/index.ts': "import '../../http/src/index.ts'\n" }],
    ['node-is-for-node-entries', { 'packages/mcp/src/index.ts': "import '../../http/src/node.ts'\n" }],
    ['ag-ui-client-is-for-pages', { 'packages/flow/src/index.ts': "import '../../ag-ui/src/client.ts'\n" }],
    ['react-knows-no-server', { 'packages/react/src/index.ts': "import '../../kernel/src/index.ts'\n" }],
    ['durable-is-for-the-engines', { 'packages/flow/src/index.ts': "import '../../durable/src/index.ts'\n" }],
    ['tests-import-testkit-at-most', { 'packages/testkit/src/a.test.ts': "import '../../flow/src/index.ts'\n" }],
    [
      'fixtures-are-for-tests',
      { 'packages/flow/src/a.fixture.ts': '', 'packages/flow/src/index.ts': "import './a.fixture.ts'\n" },
    ],
    ['kernel-tests-need-no-testkit', { 'packages/kernel/src/a.test.ts': "import '../../testkit/src/index.ts'\n" }],
    ['awilix-in-apps-only', { 'packages/flow/src/index.ts': "import 'awilix'\n" }],
    ['nobody-imports-apps', { 'packages/flow/src/index.ts': "import '../../../apps/console/src/main.ts'\n" }],
    ['nobody-imports-tests', { 'packages/flow/src/a.test.ts': "import '../../../tests/docs/guide.fixture.ts'\n" }],
    ['apps-share-setup-only', { 'apps/assistant/src/main.ts': "import '../../console/src/main.ts'\n" }],
    ['apps-share-setup-only', { 'apps/setup/src/index.ts': "import '../../console/src/main.ts'\n" }],
    ['setup-knows-no-container', { 'apps/setup/src/index.ts': "import 'awilix'\n" }],
    ['no-cycles', { 'packages/flow/src/a.ts': "import './b.ts'\n", 'packages/flow/src/b.ts': "import './a.ts'\n" }],
    [
      'no-cycles',
      {
        'apps/console/src/a.ts': "import type { B } from './b.ts'\nexport type A = B\n",
        'apps/console/src/b.ts': "import type { A } from './a.ts'\nexport type B = A[]\n",
      },
    ],
    ['resolvable', { 'packages/flow/src/index.ts': "import 'nowhere'\n" }],
  ])('%s bites: %o', (rule, files) => {
    plant(files)
    expect(broken()).toContain(rule)
  })

  it('lets a test use the testkit, the stores bundle store-sql, the servers http, pages use the client of ag-ui, and apps share apps/setup', () => {
    plant({
      'packages/react/src/index.ts': "import '../../ag-ui/src/client.ts'\n",
      'apps/setup/src/index.ts': "export { kernel } from '../../../packages/kernel/src/index.ts'\n",
      'apps/console/src/config.ts': "import '../../setup/src/index.ts'\n",
      'packages/flow/src/a.test.ts': "import '../../testkit/src/index.ts'\nimport 'zod'\n",
      'packages/store-sqlite/src/index.ts': "import '../../store-sql/src/index.ts'\n",
      'packages/ag-ui/src/index.ts': "import '../../http/src/index.ts'\n",
      'packages/ag-ui/src/node.ts': "import '../../http/src/node.ts'\n",
    })
    expect(broken()).toEqual([])
  })
})

describe('lint rules of our own', () => {
  it.each([
    ['packages/flow/src/a.ts', 'AbortSignal.any([])', /AbortSignal.any and AbortSignal.timeout are slow/],
    ['apps/console/src/a.ts', 'AbortSignal.timeout(5)', /AbortSignal.any and AbortSignal.timeout are slow/],
    ['packages/kernel/src/a.ts', 'Date.now()', /must be replayable/],
    ['packages/subagent/src/a.ts', 'Math.random()', /must be replayable/],
  ])('bite in %s: %s', (path, code, message) => {
    cpSync(join(root, 'lint'), join(folder, 'lint'), { recursive: true })
    const config = { ...JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8')), vcs: { enabled: false } }
    plant({ 'biome.json': JSON.stringify(config), [path]: `export const a: unknown = ${code}\n` })
    const { stdout, stderr } = spawnSync(command('biome'), ['lint', '--colors=off', path], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(stdout + stderr).toMatch(message)
  })
})
