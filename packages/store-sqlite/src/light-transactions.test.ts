import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LIGHT, type Tables } from '@troupe/store-sql'
import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sqliteEngine } from './sqlite-store.ts'

const [NORMAL, FULL] = [1, 2]

/** Whether commits of this connection wait for the disk. */
const waits = async (db: Kysely<Tables>) =>
  (await sql<{ synchronous: number }>`pragma synchronous`.execute(db)).rows[0]?.synchronous

describe('a transaction that need not survive a power cut by itself', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-light-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test('does not wait for the disk, and the next one does', async () => {
    const { db } = sqliteEngine({ path: join(folder, 'light.db') })
    const light = db.transaction().setIsolationLevel(LIGHT)
    expect(await light.execute(waits)).toBe(NORMAL)
    expect(await db.transaction().execute(waits)).toBe(FULL)
    expect(await waits(db)).toBe(FULL)
    await expect(light.execute(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await db.transaction().execute(waits)).toBe(FULL)
    const order = await Promise.all([light.execute(waits), db.transaction().execute(waits), light.execute(waits)])
    expect(order).toEqual([NORMAL, FULL, NORMAL])
    await db.destroy()
  })

  test('leaves a store alone that never waits', async () => {
    const { db } = sqliteEngine({ path: join(folder, 'light.db'), synchronous: 'normal' })
    await db.transaction().setIsolationLevel(LIGHT).execute(waits)
    expect(await waits(db)).toBe(NORMAL)
    await db.destroy()
  })
})
