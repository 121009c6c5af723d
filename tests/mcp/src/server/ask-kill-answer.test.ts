import { afterAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../../../../packages/store-postgres/src/postgres.fixture.ts'
import { answerKillAnswer, askKillAnswer } from './ask-kill-answer.ts'
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

describe('a server that is killed when it has the answer', () => {
  it('another one goes on with the agent, and does not do again what may have been done', async () => {
    expect(await answerKillAnswer({ kind: 'sqlite' }, 'host')).toEqual({
      text: 'It said: "The outcome of this call is not known."',
      isError: false,
      notes: ['19:30'],
    })
  })

  it('the outcome of a tool is unknown', async () => {
    expect(await answerKillAnswer({ kind: 'sqlite' }, 'book_table')).toEqual({
      text: 'OUTCOME_UNKNOWN: The process of this call is gone, so its outcome is unknown.',
      isError: true,
      notes: ['19:30'],
    })
  })
})
