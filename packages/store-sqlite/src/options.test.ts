import { systemClock } from '@troupe/kernel/kit'
import { testOptions } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { type SqliteStoreOptions, sqliteStore } from './index.ts'

const all: Required<SqliteStoreOptions> = {
  path: ':memory:',
  busyTimeoutMs: 1,
  pollMs: 1,
  synchronous: 'normal',
  clock: systemClock,
}
testOptions<SqliteStoreOptions>('sqliteStore', sqliteStore, all)

test('a file is a path', () => {
  expect(() => sqliteStore({ filename: 'chat.db' } as never)).toThrow('unknown option filename; did you mean path?')
})
