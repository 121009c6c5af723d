import { afterAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../../../../packages/store-postgres/src/postgres.fixture.ts'
import { askKillAnswer } from './ask-kill-answer.ts'
import { GENERATIONS } from './served.fixture.ts'

const postgres = await startPostgres()
afterAll(() => postgres[Symbol.asyncDispose]())

const ANSWERED = { text: expect.stringContaining('A table for 4 at 19:30.'), isError: false, notes: ['19:30'] }

describe.each(GENERATIONS)('a server that is killed with a question open, %s', (generation) => {
  it('another one takes the answer for an agent on SQLite', async () => {
    expect(await askKillAnswer(generation, { kind: 'sqlite' }, 'host')).toEqual(ANSWERED)
  })

  it('another one takes the answer for a tool on PostgreSQL', async () => {
    const kept = { kind: 'postgres', url: postgres.url, schema: postgres.schema() } as const
    expect(await askKillAnswer(generation, kept, 'book_table')).toEqual(ANSWERED)
  })
})
