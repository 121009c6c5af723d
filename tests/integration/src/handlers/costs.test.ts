import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, loop, runner } from '@troupe/flow'
import { budget } from '@troupe/handlers'
import { memoryStore } from '@troupe/kernel/memory-store'
import { messageLifecycle } from '@troupe/persistence'
import { sqliteStore } from '@troupe/store-sqlite'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'

const usage = { inputTokens: 8, outputTokens: 2 }
const price = () => 0.25

/** An agent that asks another one, each with a budget. */
function office(limit: number, store?: ReturnType<typeof memoryStore>) {
  const spending = budget({ price, limits: [{ per: 'run', tokens: limit }], ...(store && { store }) })
  const helper = chatModelAgent({
    name: 'helper',
    description: 'Helps.',
    model: scriptedModel([{ text: 'Helped.', usage }], { repeat: true }),
    handlers: [spending],
  })
  const turns = [
    { toolCalls: [{ name: 'helper', arguments: { request: 'Help.' } }], usage },
    { text: 'Done.', usage },
  ]
  return chatModelAgent({
    name: 'lead',
    model: scriptedModel(turns),
    tools: [agentTool(helper, { parameters: { type: 'object' } })],
    handlers: [spending],
  })
}

const session = { app: 'test', user: 'ann', threadId: 't' }

describe.each([
  ['in the process', undefined],
  ['in a store', memoryStore()],
])('the budget of a run, counted %s', (_, counters) => {
  test('is spent by the runs inside it, too', async () => {
    const chat = runner({ agent: office(20, counters) })
    const run = chat.query('Go.', { session: { ...session, threadId: crypto.randomUUID() } })
    await expect(Promise.resolve(run)).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED', details: { spent: 20 } })
  })

  test('is spent by each step of a workflow', async () => {
    const spending = budget({ limits: [{ per: 'run', tokens: 20 }], ...(counters && { store: counters }) })
    const model = scriptedModel([{ text: 'Again.', usage }], { repeat: true })
    const agent = loop({
      name: 'rounds',
      agents: [chatModelAgent({ name: 'one', model, handlers: [spending] })],
      maxIterations: 6,
    })
    await expect(Promise.resolve(runner({ agent }).query('Go.'))).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED' })
    expect(model.requests).toHaveLength(2)
  })

  test('is that of one run', async () => {
    for (const _ of [1, 2]) {
      const { text } = await runner({ agent: office(30, counters) }).query('Go.')
      expect(text).toBe('Done.')
    }
  })
})

test.each([
  ['memory', () => memoryStore()],
  ['SQLite', () => sqliteStore({ path: ':memory:' })],
])('what a run cost is in its events, its result, its records and the sum of its thread (%s)', async (_, open) => {
  await using store = open()
  await using messages = messageLifecycle({ store })
  const chat = runner({ agent: office(1_000), store, callbacks: [messages] })
  const costs: unknown[] = []
  const run = chat.query('Go.', { session })
  for await (const event of run) {
    if (event.type === 'message-end' || event.type === 'run-end') costs.push(event.usage?.cost)
  }
  expect(costs).toEqual([0.25, 0.25, 0.75])
  expect((await run).usage).toEqual({ inputTokens: 24, outputTokens: 6, cost: 0.75 })
  await messages.flush(session)
  expect(await store.records.usage(session)).toEqual({ inputTokens: 24, outputTokens: 6, cost: 0.75 })
  const runs = await store.records.runs(session)
  expect(runs.map((record) => record.usage?.cost)).toEqual([0.75, 0.25])
})
