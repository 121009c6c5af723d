import { chatModelAgent } from '@troupe/chat-model'
import { compaction } from '@troupe/context'
import { runner } from '@troupe/flow'
import { type BudgetOptions, budget } from '@troupe/handlers'
import type { AgentHandler } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { ANN } from './talk.fixture.ts'

const DAY = 86_400_000
const SUMMARY = { text: '## Facts\n- The ferry leaves at noon.', usage: { inputTokens: 1_000, outputTokens: 100 } }
const usage = { inputTokens: 50, outputTokens: 5 }

/** A conversation of two turns, the first of which is summarised before the second, and what it cost. */
async function conversation(limits: BudgetOptions['limits'], { order = (all: readonly AgentHandler[]) => all } = {}) {
  const store = memoryStore()
  const small = { ...scriptedModel([SUMMARY], { repeat: true }), name: 'small' }
  const large = scriptedModel([{ text: 'Noon.', usage }], { repeat: true })
  const priced: string[] = []
  const spending = budget({
    store,
    price: (model, { inputTokens, outputTokens }) => {
      priced.push(`${model} ${inputTokens + outputTokens}`)
      return (inputTokens + outputTokens) / 1_000
    },
    ...(limits && { limits }),
  })
  const summaries = compaction({ model: small, maxTokens: 40, keepTokens: 1, store })
  const handlers = order([spending, summaries])
  const guide = chatModelAgent({ name: 'guide', model: large, handlers })
  const chat = runner({ agent: guide, store })
  const events: unknown[] = []
  for (const question of ['When does the ferry leave?', 'Are you sure?']) {
    for await (const event of chat.query(question, { session: ANN }).eventsWithoutThrowing()) {
      if (event.type === 'custom') events.push(event.name)
      if (event.type === 'run-end') events.push(event.error?.code ?? event.outcome)
    }
  }
  return { events, priced, summarised: small.requests.length, asked: large.requests.length }
}

describe('summaries that a handler asks for', () => {
  it.each([
    ['before', (all: readonly AgentHandler[]) => all],
    ['after', (all: readonly AgentHandler[]) => all.toReversed()],
  ])('are counted by a budget %s the handler: the call after them is refused', async (_, order) => {
    // One answer has 55 tokens, two have 110.
    const { events, summarised, asked } = await conversation([{ per: 'owner', tokens: 500, windowMs: DAY }], { order })
    expect(summarised).toBe(1)
    expect(events).toEqual(['complete', 'budget-warning', 'compaction', 'BUDGET_EXCEEDED'])
    expect(asked).toBe(1)
  })

  it('have the price of their own model', async () => {
    const { priced, events } = await conversation([{ per: 'owner', cost: 100, windowMs: DAY }])
    expect(events).toEqual(['complete', 'compaction', 'complete'])
    expect([...new Set(priced)]).toEqual(['scripted 55', 'small 1100'])
  })

  it('are not asked for when the budget is spent', async () => {
    const { events, summarised } = await conversation([{ per: 'owner', tokens: 55, windowMs: DAY }])
    expect(summarised).toBe(0)
    expect(events.at(-1)).toBe('BUDGET_EXCEEDED')
  })

  it('are not refused by a budget that has no limits', async () => {
    const { events, summarised } = await conversation(undefined)
    expect([summarised, events.at(-1)]).toEqual([1, 'complete'])
  })
})
