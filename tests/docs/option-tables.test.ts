import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { AgUiAgent, agUiHandler, SessionManager } from '../../packages/ag-ui/src/index.ts'
import { chatModelAgent } from '../../packages/chat-model/src/index.ts'
import { compaction, offload, promptCache, toolSearch } from '../../packages/context/src/index.ts'
import { restateRunner, restateWorker } from '../../packages/durable-restate/src/index.ts'
import { runner } from '../../packages/flow/src/index.ts'
import {
  budget,
  guardedRunner,
  guardrails,
  historyBudget,
  logging,
  redaction,
  toolCache,
  toolCallLimit,
  truncateResults,
} from '../../packages/handlers/src/index.ts'
import { mcpTools } from '../../packages/mcp/src/index.ts'
import { mcpServer } from '../../packages/mcp/src/server/index.ts'
import { memory } from '../../packages/memory/src/index.ts'
import { aiSdkModel } from '../../packages/model-ai-sdk/src/index.ts'
import { otel } from '../../packages/otel/src/index.ts'
import { expire, messageLifecycle } from '../../packages/persistence/src/index.ts'
import { postgresStore } from '../../packages/store-postgres/src/index.ts'
import { sqliteStore } from '../../packages/store-sqlite/src/index.ts'
import { defineAgent, subagentTool } from '../../packages/subagent/src/index.ts'

const root = resolve(import.meta.dirname, '../..')
const model = { specificationVersion: 'v4', provider: 'p', modelId: 'm', doStream() {} }

const finder = defineAgent({ name: 'finder', description: 'd', input: { type: 'object' }, prompt: 'Find it.' })

/** The functions that take options, one for each table of options in a README, in order. */
const factories: Readonly<Record<string, readonly ((options: never) => unknown)[]>> = {
  'ag-ui': [agUiHandler, (options) => new AgUiAgent(options), (options) => new SessionManager(options)],
  'chat-model': [(options: object) => chatModelAgent({ name: 'a', ...options } as never)],
  context: [compaction, toolSearch, offload, promptCache],
  'durable-restate': [restateWorker, restateRunner],
  flow: [runner],
  handlers: [
    budget,
    guardrails,
    redaction,
    guardedRunner,
    toolCache,
    logging,
    historyBudget,
    truncateResults,
    toolCallLimit,
  ],
  mcp: [mcpTools, mcpServer],
  memory: [memory],
  'model-ai-sdk': [(options) => aiSdkModel(model as never, options)],
  otel: [otel],
  persistence: [messageLifecycle, expire],
  'store-postgres': [postgresStore],
  'store-sqlite': [sqliteStore],
  subagent: [defineAgent, (options) => subagentTool(finder, options)],
}

/** The options of each table by name: `limits.runMs`. */
function tablesOf(folder: string): readonly (readonly string[])[] {
  const text = readFileSync(join(root, 'packages', folder, 'README.md'), 'utf8')
  return [...text.matchAll(/^\| option \|.*\n\|[-|]+\n((?:\|.*\n)+)/gm)].map(([, rows = '']) =>
    rows
      .trim()
      .split('\n')
      .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([\w.]+)/g)].map(([, name = '']) => name)),
  )
}

/** The complaint about the name of an option, if any; other errors do not matter here. */
async function complaintAbout(factory: (options: never) => unknown, name: string): Promise<string> {
  const [option = '', inner] = name.split('.')
  try {
    await factory({ [option]: inner === undefined ? '' : { [inner]: 1 } } as never)
    return ''
  } catch (error) {
    return /unknown option.*/.exec(String(error))?.[0] ?? ''
  }
}

it('has a factory for every table of options', () => {
  const found = globSync('packages/*/README.md', { cwd: root }).map((path) => path.split(/[\\/]/)[1] ?? '')
  const counted = Object.fromEntries(
    found.map((folder) => [folder, tablesOf(folder).length]).filter(([, n]) => n !== 0),
  )
  expect(counted).toEqual(Object.fromEntries(Object.entries(factories).map(([folder, list]) => [folder, list.length])))
})

describe.each(Object.entries(factories))('the options in the README of %s', (folder, list) => {
  const tables = tablesOf(folder)
  test.each(list.flatMap((factory, i) => (tables[i] ?? []).map((name) => [name, factory] as const)))(
    '%s',
    async (name, factory) => {
      expect(await complaintAbout(factory, name)).toBe('')
      expect(await complaintAbout(factory, `${name}x`)).toContain(`${name.split('.').at(-1)}x`)
    },
  )
})
