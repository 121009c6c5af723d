import type { AgentEvent, ChatModel } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { answersTo, scriptedModel } from '@troupe/testkit'
import { asValue } from 'awilix'
import { expect, test } from 'vitest'
import { type Config, readConfig } from './config.ts'
import { createApp } from './container.ts'
import { demoModel } from './demo-model.ts'

const config = readConfig([], {}) as Config

/** The whole app with another model and a store in memory. */
function team(model: ChatModel, changes: Partial<Config> = {}) {
  const app = createApp({ ...config, ...changes })
  const parts = app.register({ model: asValue(model), store: asValue(memoryStore()) }).cradle
  const session = { app: 'test', user: 'ann', threadId: 't1' }
  return { ...parts, runner: parts.runner, shop: parts.shop, session }
}

const call = (name: string, args: object, id = 'c1') => ({ toolCalls: [{ id, name, arguments: { ...args } }] })
const toOrders = call('transfer_to_agent', { agent_name: 'orders' })

test('every part can be made', () => {
  const app = createApp(config).register({ store: asValue(memoryStore()) })
  for (const name of Object.keys(app.registrations)) expect(app.resolve(name), name).toBeDefined()
})

test('the desk transfers to the agent that knows orders', async () => {
  const { runner } = team(scriptedModel([toOrders, call('find_order', { order: 1001 }), 'It is on its way.']))
  const speakers: string[] = []
  for await (const event of runner.query('Where is order 1001?')) {
    if (event.type === 'message-end') speakers.push([...event.runPath, event.agentName].join(' › '))
  }
  expect(speakers).toEqual(['desk', 'desk › orders', 'desk › orders'])
})

test('the researcher works inside a call of the agent for books', async () => {
  const { runner } = team(demoModel())
  const events: AgentEvent[] = []
  for await (const event of runner.query('I want a book about whales at sea')) events.push(event)
  const nested = events.filter(({ agentName }) => agentName === 'researcher')
  expect(nested.every(({ parentCallId }) => parentCallId !== undefined)).toBe(true)
  expect(events.at(-1)).toMatchObject({ type: 'run-end', text: expect.stringContaining('Moby-Dick') })
})

test.each([
  { approved: true, state: 'refunded' },
  { approved: false, state: 'delivered' },
])('money leaves the shop only if a person agrees: $approved', async ({ approved, state }) => {
  const { runner, shop, session } = team(
    scriptedModel([toOrders, call('refund_order', { order: 1002 }, 'r1'), 'Done.']),
  )
  const { interrupts = [] } = await runner.query('Refund order 1002', { session })
  expect(shop.order(1002).state).toBe('delivered')
  await runner.resume(answersTo(interrupts, { r1: { approved } }), { session })
  expect(shop.order(1002).state).toBe(state)
})

test('a person who answers "always" is not asked again', async () => {
  const refund = [toOrders, call('refund_order', { order: 1001 }, 'r1'), 'Done.']
  const again = [toOrders, call('refund_order', { order: 1002 }, 'r2'), 'Done.']
  const { runner, shop, session } = team(scriptedModel([...refund, ...again]))
  const { interrupts = [] } = await runner.query('Refund order 1001', { session })
  await runner.resume(answersTo(interrupts, { r1: { approved: true, always: 'tool' } }), { session })
  expect(await runner.query('Refund order 1002', { session })).toMatchObject({ outcome: 'complete' })
  expect(shop.order(1002).state).toBe('refunded')
})

test('a rule denies a call whatever anyone says, and the model is told why', async () => {
  const model = scriptedModel([toOrders, call('refund_order', { order: 1003 }), 'I may not.'])
  const { runner, shop, session } = team(model)
  expect(await runner.query('Refund order 1003', { session })).toMatchObject({ outcome: 'complete' })
  expect(shop.order(1003).state).toBe('delivered')
  expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', error: { code: 'POLICY_DENIED' } })
})

test('a run ends when its budget is used up, counting all agents', async () => {
  const { runner, session } = team(demoModel(), { tokensPerRun: 200 })
  const run = runner.query('Where is order 1001?', { session })
  await expect(run).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED', details: { per: 'run' } })
})

test.each(['0', '-1', 'many', '1.5'])('a budget of %s is refused', (text) => {
  expect(() => readConfig([], { TOKENS_PER_RUN: text })).toThrow(
    `TOKENS_PER_RUN must be a whole number above 0, got ${text}`,
  )
})
