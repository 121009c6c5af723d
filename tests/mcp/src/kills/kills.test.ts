import { afterAll, describe, expect, it, vi } from 'vitest'
import { startPostgres } from '../../../../packages/store-postgres/src/postgres.fixture.ts'
import type { KeptIn } from './kept-in.ts'
import { killAskingClient } from './kill-asking-client.ts'
import { killAnsweredServer, killAskingServer } from './kill-asking-server.ts'

// Each test starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const postgres = await startPostgres()
afterAll(() => postgres[Symbol.asyncDispose]())

const onSqlite: KeptIn = { kind: 'sqlite' }
const onPostgres = (): KeptIn => ({ kind: 'postgres', url: postgres.url, schema: postgres.schema() })

describe('an agent that is killed while a server asks: another process answers', () => {
  const ANSWERED = { questions: 1, outcome: 'complete', content: 'A table for 3, for Dr. Ann.' }

  it('a stateful server, on SQLite', async () => {
    expect(await killAskingClient('stateful', onSqlite)).toEqual(ANSWERED)
  })

  it('a server of 2026-07-28, on PostgreSQL', async () => {
    expect(await killAskingClient('both', onPostgres())).toEqual(ANSWERED)
  })
})

describe('a server that is killed with a question open: another one takes the answer', () => {
  const ANSWERED = { text: expect.stringContaining('A table for 4 at 19:30.'), isError: false, notes: ['19:30'] }

  it('for an agent, in the stateful protocol, on SQLite', async () => {
    expect(await killAskingServer('stateful', onSqlite, 'host')).toEqual(ANSWERED)
  })

  it('for a tool, in 2026-07-28, on PostgreSQL', async () => {
    expect(await killAskingServer('2026-07-28', onPostgres(), 'book_table')).toEqual(ANSWERED)
  })
})

describe('a server that is killed when it has the answer', () => {
  it('another one goes on with the agent, and does not do again what may have been done', async () => {
    expect(await killAnsweredServer(onSqlite, 'host')).toEqual({
      text: 'It said: "The outcome of this call is not known."',
      isError: false,
      notes: ['19:30'],
    })
  })

  it('the outcome of a tool is unknown', async () => {
    expect(await killAnsweredServer(onSqlite, 'book_table')).toEqual({
      text: 'OUTCOME_UNKNOWN: The process of this call is gone, so its outcome is unknown.',
      isError: true,
      notes: ['19:30'],
    })
  })
})
