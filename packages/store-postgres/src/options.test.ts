import { systemClock } from '@troupe/kernel/kit'
import { testOptions } from '@troupe/testkit'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { type PostgresStoreOptions, postgresStore } from './index.ts'

const all: Required<Omit<PostgresStoreOptions, 'pool'>> = {
  url: 'postgres://localhost/chat',
  schema: 'public',
  listen: false,
  pollMs: 1,
  timeoutMs: 1,
  lockTimeoutMs: 1,
  idleTransactionMs: 1,
  statementTimeoutMs: 1,
  maxConnections: 1,
  prepareStatements: true,
  clock: systemClock,
}
testOptions<PostgresStoreOptions>('postgresStore', postgresStore, all)
testOptions<PostgresStoreOptions>('postgresStore with a pool', postgresStore, { pool: new Pool() })

test('a connection string is a url', () => {
  expect(() => postgresStore({ connectionString: 'postgres://localhost/chat' } as never)).toThrow(
    'postgresStore: unknown option connectionString; did you mean url?',
  )
})

test('a limit of the server is a whole number of milliseconds', () => {
  for (const name of ['lockTimeoutMs', 'idleTransactionMs', 'statementTimeoutMs']) {
    for (const wrong of [-1, 0.5, Number.POSITIVE_INFINITY, '3s; drop table x']) {
      expect(() => postgresStore({ url: 'postgres://localhost/chat', [name]: wrong } as never)).toThrow(
        `postgresStore: ${name} must be a whole number from 0 on`,
      )
    }
  }
})
