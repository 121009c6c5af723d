import { defineTool } from '@troupe/kernel'
import { runNested, startRun } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { conversation } from '../chat-model.fixture.ts'
import { chatModelAgent } from '../chat-model-agent.ts'

// A provider that numbers its calls begins anew in each answer, and a run that was lost has left nothing in the history.
test('two runs of a thread have keys of their own, also where the first has left no history', async () => {
  const keys: string[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object' },
    effect: 'idempotent',
    invoke: (_args, _ctx, { idempotencyKey }) => `paid ${keys.push(idempotencyKey)}`,
  })
  const turns = [{ toolCalls: [{ id: 'call-1', name: 'pay' }] }, 'Done.']
  const agent = chatModelAgent({ name: 'a', model: scriptedModel(turns, { repeat: true }), tools: [pay] })
  const session = { app: 'app', user: 'anna', threadId: 'thread-1' }
  for (const id of ['lost', 'next']) {
    await startRun(agent, { messages: [{ id, role: 'user', content: id }] }, { session, runId: id })
  }
  expect(new Set(keys).size).toBe(2)
})

test('a call of a run inside a call keeps its key when the outer call runs again after a question', async () => {
  const keys: string[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object' },
    effect: 'idempotent',
    invoke: (_args, _ctx, { idempotencyKey }) => `paid ${keys.push(idempotencyKey)}`,
  })
  const down = { error: { at: 'before', error: new Error('down') } } as const
  const turns = [{ toolCalls: [{ id: 'call-1', name: 'pay' }] }, down]
  const inner = chatModelAgent({ name: 'inner', model: scriptedModel(turns, { repeat: true }), tools: [pay] })
  const errand = defineTool({
    name: 'errand',
    description: 'Takes a payment, and asks what to do.',
    parameters: { type: 'object' },
    async invoke(_args, ctx) {
      await runNested(inner, { messages: [] }, ctx, { forward: false }).catch(() => undefined)
      return ctx.interrupt<string>({ reason: 'input' })
    },
  })
  const talk = conversation([{ toolCalls: [{ id: 'call-1', name: 'errand' }] }, 'Done.'], { tools: [errand] })
  await talk.next()
  await talk.next({ 'call-1': 'Go on.' })
  expect(keys).toHaveLength(2)
  expect(new Set(keys).size).toBe(1)
})

test('a key names the owner and the thread, so that no other one has it, whatever its ids contain', async () => {
  const keys: string[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object' },
    effect: 'idempotent',
    invoke: (_args, _ctx, { idempotencyKey }) => `paid ${keys.push(idempotencyKey)}`,
  })
  const model = scriptedModel([{ toolCalls: [{ id: 'call-1', name: 'pay' }] }, 'Done.'], { repeat: true })
  const agent = chatModelAgent({ name: 'a', model, tools: [pay] })
  const sessions = [
    { app: 'app', user: 'anna', threadId: 't' },
    { app: 'app', user: 'anna', threadId: 't2' },
    { app: 'app', user: 'bob', threadId: 't' },
    { app: 'other', user: 'anna', threadId: 't' },
    { app: 'app/anna', user: 't', threadId: '💥' },
    { app: 'app', user: 'anna/t', threadId: '💥' },
    { app: 'app', user: 'anna', threadId: '\ud800' },
    { app: 'app', user: 'anna', threadId: '%ud800' },
  ]
  for (const session of sessions) {
    await startRun(agent, { messages: [{ id: 'u', role: 'user', content: 'Pay' }] }, { session, runId: 'run-1' })
  }
  const all = [...keys, ...model.requests.map(({ idempotencyKey }) => idempotencyKey)]
  expect(new Set(all).size).toBe(3 * sessions.length)
  for (const key of all) expect(key).toMatch(/^[!-~]+$/)
})
