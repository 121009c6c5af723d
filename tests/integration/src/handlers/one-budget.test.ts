import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, type TestServer } from '../../../../packages/store-postgres/src/postgres.fixture.ts'
import { LIMIT, PER_CALL, PROCESSES, RUNS } from './spender.fixture.ts'

const PROGRAM = fileURLToPath(new URL('spender.fixture.ts', import.meta.url))

let database: TestServer
let folder: string
const started: ChildProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-budget-'))
  database = await startPostgres()
})
afterAll(async () => {
  for (const child of started) child.kill()
  rmSync(folder, { recursive: true })
  await database?.[Symbol.asyncDispose]()
})

/** What the runs of a process have used. */
async function spender(
  ...args: readonly string[]
): Promise<readonly { readonly calls: number; readonly code: string }[]> {
  const child = spawn(process.execPath, ['--no-warnings', PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  let output = ''
  child.stdout.on('data', (data) => {
    output += data
  })
  await once(child, 'close')
  return JSON.parse(output)
}

describe('eight parallel runs of one owner in two processes', () => {
  test.each([
    ['SQLite', () => ['sqlite', join(folder, 'one.db')]],
    ['PostgreSQL', () => ['postgres', database.url, database.schema()]],
  ] as const)('exceed their budget by at most one call each (%s)', async (_, argsOf) => {
    const args = argsOf()
    const runs = (await Promise.all(Array.from({ length: PROCESSES }, () => spender(...args)))).flat()
    expect(runs).toHaveLength(RUNS * PROCESSES)
    expect(new Set(runs.map(({ code }) => code))).toEqual(new Set(['BUDGET_EXCEEDED']))
    const spent = runs.reduce((sum, { calls }) => sum + calls * PER_CALL, 0)
    expect(spent).toBeGreaterThanOrEqual(LIMIT)
    expect(spent).toBeLessThan(LIMIT + runs.length * PER_CALL)
    // All of them took part.
    expect(Math.min(...runs.map(({ calls }) => calls))).toBeGreaterThan(0)
  })
})
