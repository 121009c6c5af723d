import { compaction } from '@troupe/context'
import { CARD, redaction, redactJson } from '@troupe/handlers'
import type { Json, Message } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { ANN, factKeeper, talk } from './talk.fixture.ts'

const SECRET = '4111 1111 1111 1111'

test.each([
  ['found by words', { query: 'alpha' }],
  ['listed', { from: 1 }],
])('messages that are %s are cleaned before they are cut', async (_, args) => {
  const clean = redactJson([CARD])
  // However much of the card is behind the cut.
  for (let before = 575; before < 605; before++) {
    const store = memoryStore()
    const length = 'query' in args ? before : before + 7_380
    const model = scriptedModel([
      { text: 'ok', usage: { inputTokens: 100_000, outputTokens: 1 } },
      { toolCalls: [{ name: 'read_history', arguments: args }] },
      'Done.',
    ])
    const handlers = [
      compaction({
        model: factKeeper(),
        keepTokens: 10,
        store,
        clean: (message: Message) => clean(message as Json) as Message,
      }),
      redaction({ rules: [CARD] }),
    ]
    const desk = talk(model, handlers, { store })
    await desk.query(`alpha ${'w '.repeat(length).slice(0, length - 7)} ${SECRET} ${'v '.repeat(300)}`, {
      session: ANN,
    })
    await desk.query('What was it?', { session: ANN })
    // The text alone: a random message id may hold the same four digits.
    const answer = model.requests.at(-1)?.messages.at(-1)
    const read = answer?.role === 'tool' ? answer.content : undefined
    expect(read).toContain('alpha')
    expect(read).not.toContain(SECRET.slice(0, 4))
  }
})
