import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { KernelError } from '@troupe/kernel'
import { sqlStore } from '@troupe/store-sql'
import { appendAtOnce, appendsTogether, begun } from '@troupe/store-sql/appends-together'
import { afterAll, describe, expect, it } from 'vitest'
import { sqliteEngine, sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-sqlite-appends-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const file = () => join(folder, `${++files}.db`)

describe('appends at the same time', () => {
  appendsTogether(() => sqliteStore({ path: file() }))

  it('are one transaction of three statements, which does not wait for the disk', async () => {
    const engine = sqliteEngine({ path: file() })
    let statements = 0
    const relaxed = engine.relaxed?.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        statements++
        return result
      },
    })
    await using store = sqlStore({ ...engine, ...(relaxed && { relaxed }) })
    await begun(store, 50)
    statements = 0
    await appendAtOnce(store, 50)
    expect(statements).toBe(3)
  })

  it('all fail while the file is locked, and can be repeated', async () => {
    const path = file()
    await using store = sqliteStore({ path, busyTimeoutMs: 0 })
    await begun(store, 3)
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    const error = await appendAtOnce(store, 3).catch((error: unknown) => KernelError.from(error))
    expect(error).toMatchObject({ code: 'STORE_BUSY', retryable: true })
    other.exec('rollback')
    other.close()
    expect(await appendAtOnce(store, 3)).toEqual([3, 3, 3])
  })
})
