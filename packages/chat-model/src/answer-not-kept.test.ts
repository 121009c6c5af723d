import type { AgentHandler } from '@troupe/kernel'
import { ANSWER_NOT_KEPT } from '@troupe/kernel/kit'
import { beforeEach, expect, test } from 'vitest'
import { conversation, noUnhandledRejection } from './chat-model.fixture.ts'

beforeEach(noUnhandledRejection)

/** Asks about the answer when it has read it. */
const asker: AgentHandler = {
  name: 'asker',
  async *wrapModelCall(ctx, request, next) {
    const parts = await Array.fromAsync(next(ctx, request))
    await ctx.interrupt({ reason: 'approval', message: 'Fine?' })
    yield* parts
  },
}

/** Replaces what the model says, for good or not. */
const censor = (forGood: boolean): AgentHandler => ({
  name: 'censor',
  async *wrapModelCall(ctx, request, next) {
    for await (const part of next(forGood ? ctx.with(ANSWER_NOT_KEPT, true) : ctx, request)) {
      yield part.type === 'text-delta' ? { ...part, delta: '***' } : part
    }
  },
})

test('an answer that a handler changes for good is not stored with the question of another handler, and its tokens count', async () => {
  const talk = conversation(['The secret.', 'The other secret.'], { handlers: [asker, censor(true)] })
  const first = await talk.next()
  expect(first.end).toMatchObject({ outcome: 'interrupted', usage: { inputTokens: 1, outputTokens: 1 } })
  expect(JSON.stringify(first)).not.toContain('secret')
  const [question] = first.end?.interrupts ?? []
  const last = await talk.next({ [question?.id ?? '']: { approved: true } })
  expect([last.end?.outcome, last.end?.text, talk.model.requests.length]).toEqual(['complete', '***', 2])
})

test('any other answer is kept, so that the model is not asked again', async () => {
  const talk = conversation(['The text.'], { handlers: [asker, censor(false)] })
  const first = await talk.next()
  expect(JSON.stringify(first.events)).toContain('The text.')
  const [question] = first.end?.interrupts ?? []
  const last = await talk.next({ [question?.id ?? '']: { approved: true } })
  expect([last.end?.text, talk.model.requests.length]).toEqual(['***', 1])
})
