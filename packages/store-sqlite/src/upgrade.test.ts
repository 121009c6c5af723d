import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { MIGRATIONS, sqlStore } from '@troupe/store-sql'
import {
  BESIDE_NAMED,
  counted,
  FIRST_VERSION,
  idsBesideNamed,
  LATER_VERSION,
  makeFirstVersion,
  NAMED_RUN,
  readFirstVersion,
  useLaterVersion,
} from '@troupe/store-sql/first-version'
import { fakeClock } from '@troupe/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { sqliteEngine, sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-sqlite-upgrade-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

/** A file of the first release. */
async function firstRelease(): Promise<string> {
  const path = join(folder, `${++files}.db`)
  await makeFirstVersion(sqliteEngine({ path }))
  return path
}

function versionOf(path: string): unknown {
  const raw = new DatabaseSync(path)
  const { version } = raw.prepare('select version from troupe_schema').get() ?? {}
  raw.close()
  return version
}

/** Reads a file with this code, which upgrades it, and uses what is new. */
async function checkUpgraded(path: string): Promise<void> {
  await using store = sqliteStore({ path, clock: fakeClock(2000) })
  expect(await readFirstVersion(store)).toEqual(FIRST_VERSION)
  expect(await useLaterVersion(store)).toEqual(LATER_VERSION)
  expect(versionOf(path)).toBe(MIGRATIONS.length)
}

function start(path: string, task: string, name = ''): ChildProcess {
  const fixture = fileURLToPath(new URL('./writer.fixture.ts', import.meta.url))
  return spawn(process.execPath, ['--no-warnings', fixture, path, task, name], { stdio: ['ignore', 'pipe', 'pipe'] })
}

describe('a file of the first release', () => {
  it('is upgraded with all it has', async () => {
    const path = await firstRelease()
    expect(versionOf(path)).toBe(1)
    await checkUpgraded(path)
  })

  it('keeps the ids of its runs for them and for what is nested in them', async () => {
    const path = await firstRelease()
    const raw = new DatabaseSync(path)
    raw.exec(NAMED_RUN)
    raw.close()
    await using store = sqliteStore({ path, clock: fakeClock(2000) })
    expect(await idsBesideNamed(store)).toEqual(BESIDE_NAMED)
  })

  it('is upgraded once by processes that start together', async () => {
    const path = await firstRelease()
    const ends = await Promise.all(
      [1, 2, 3].map(async () => {
        const child = start(path, 'migrate')
        let text = ''
        child.stdout?.on('data', (chunk) => {
          text += chunk
        })
        await once(child, 'close')
        return text
      }),
    )
    expect(ends).toEqual(['null', 'null', 'null'])
    await checkUpgraded(path)
  })

  it('is as it was if a statement of the upgrade fails, whichever, and is upgraded the next time', async () => {
    const path = await firstRelease()
    let failures = 0
    // The first statement reads the version.
    for (let failing = 2; ; failing++) {
      const fail = (statement: number) => {
        if (statement === failing) throw new Error('test: the disk is gone')
      }
      await using store = sqlStore(counted(sqliteEngine({ path }), fail))
      const error = await store.ready().then(
        () => undefined,
        (error: unknown) => error,
      )
      if (!error) break
      failures++
      expect(versionOf(path)).toBe(1)
    }
    expect(failures).toBeGreaterThan(MIGRATIONS.length)
    await checkUpgraded(path)
  })

  it.each(['4', '7'])('is upgraded after the process that upgraded it was killed at statement %s', async (at) => {
    const path = await firstRelease()
    const child = start(path, 'migrate-and-freeze', at)
    await once(child.stderr as NodeJS.ReadableStream, 'data')
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(versionOf(path)).toBe(1)
    await checkUpgraded(path)
  })
})
