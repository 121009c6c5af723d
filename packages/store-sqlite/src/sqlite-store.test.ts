import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { takeTurns } from '@troupe/store-sql/take-turns'
import { testStore } from '@troupe/testkit'
import { afterAll } from 'vitest'
import { sqliteStore } from './sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const file = () => join(folder, `${++files}.db`)
const openOn = (path: string, clock: Clock) => () => sqliteStore({ path, clock })

testStore('sqliteStore in memory', (clock) => ({ store: sqliteStore({ path: ':memory:', clock }), keeps: 'nothing' }))
testStore('sqliteStore in a file', (clock) => {
  const open = openOn(file(), clock)
  return { store: open(), keeps: 'for-many-instances', reopen: open }
})
testStore('two sqliteStores on one file, asked in turn', ({ now }) => {
  // Followers of one store find the writes of the other by polling, in real time.
  const clock: Clock = { now, after: systemClock.after }
  const path = file()
  return takeTurns([1, 2].map(() => sqliteStore({ path, clock, pollMs: 2, synchronous: 'normal' })))
})
