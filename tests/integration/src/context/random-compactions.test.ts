import { chatModelAgent } from '@troupe/chat-model'
import { compactedFrom, compaction } from '@troupe/context'
import { runner, setSubAgents } from '@troupe/flow'
import { defineTool, type Message, type ModelRequest, textOf } from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { memoryStore } from '@troupe/kernel/memory-store'
import type { ScriptedTurn } from '@troupe/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ANN, factKeeper, messagesOf, sizedModel } from './talk.fixture.ts'

/** What agents do in an exchange before they answer, and whether another process begins it. */
const exchange = fc.record({
  deeds: fc.array(fc.constantFrom('look', 'look', 'look twice', 'transfer'), { maxLength: 5 }),
  length: fc.nat(300),
  restart: fc.boolean(),
})
type Exchange = typeof exchange extends fc.Arbitrary<infer Value> ? Value : never

/** A call id that no model counts. */
const idOf = (turn: number, call: number) => `call-${(turn * 7_919 + call * 104_729).toString(36)}-of-a-model`

/** Holds a conversation of two agents, and gives what their models saw. */
async function held(exchanges: readonly Exchange[], limits: { maxTokens: number; keepTokens: number }, load: boolean) {
  const store = memoryStore()
  const small = factKeeper()
  const requests: ModelRequest[] = []
  let deeds: string[] = []
  let turn = 0
  const answer = (request: ModelRequest, agent: string): ScriptedTurn => {
    requests.push(request)
    turn++
    const deed = deeds.shift()
    const other = agent === 'router' ? 'helper' : 'router'
    if (deed === 'transfer') {
      return { toolCalls: [{ id: idOf(turn, 0), name: 'transfer_to_agent', arguments: { agent_name: other } }] }
    }
    const calls = { look: 1, 'look twice': 2 }[deed ?? ''] ?? 0
    if (calls === 0) return `Answer ${turn}.`
    return { toolCalls: Array.from({ length: calls }, (_, i) => ({ id: idOf(turn, i), name: 'look' })) }
  }
  const make = () => {
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      parameters: { type: 'object' },
      // Short, so that no summary grows too long for all of them.
      invoke: () => `FACT: s${turn}\n${'x'.repeat(100)}`,
    })
    const handler = compaction({ model: small, ...limits, store })
    const agentOf = (name: string) =>
      chatModelAgent({
        name,
        description: name,
        model: sizedModel((request) => answer(request, name)),
        tools: [look],
        handlers: [handler],
        maxIterations: 50,
      })
    const agent = setSubAgents(agentOf('router'), [agentOf('helper')])
    return runner({ agent, store, ...(load && { history: { from: compactedFrom } }) })
  }
  let desk = make()
  for (const [i, { deeds: list, length, restart }] of exchanges.entries()) {
    if (restart) desk = make()
    deeds = [...list]
    await desk.query(`Question ${i} ${'y'.repeat(length)}`, { session: ANN, runId: `R${i}` })
  }
  return { requests, summaries: small.requests.length, store }
}

/** What is shown of a thread: the summary has all facts of what was cut off. */
function expectSound(request: ModelRequest): void {
  const { messages } = request
  expect(repairHistory(messages)).toBe(messages)
  const summaries = messages.filter(({ id }) => id.startsWith('summary:'))
  expect(summaries.length).toBeLessThanOrEqual(1)
  expect(summaries[0] ?? messages[0]).toBe(messages[0])
}

/** The facts in messages. */
const factsIn = (messages: readonly Message[]) =>
  new Set(messages.flatMap(({ content }) => [...textOf(content).matchAll(/(?:FACT: |- )s(\d+)/g)].map(([, n]) => n)))

test('two agents in one thread see sound histories with every fact, the same ones if the thread is loaded from the cut', async () => {
  let compacted = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(exchange, { minLength: 3, maxLength: 10 }),
      fc.record({ maxTokens: fc.integer({ min: 700, max: 1_500 }), share: fc.integer({ min: 10, max: 60 }) }),
      async (exchanges, { maxTokens, share }) => {
        const limits = { maxTokens, keepTokens: Math.floor((maxTokens * share) / 100) }
        const whole = await held(exchanges, limits, false)
        const cut = await held(exchanges, limits, true)
        compacted += whole.summaries
        for (const request of whole.requests) expectSound(request)
        const seen = ({ requests }: typeof whole) => requests.map(({ messages }) => messages)
        expect(seen(cut)).toEqual(seen(whole))
        expect(await messagesOf(cut.store)).toEqual(await messagesOf(whole.store))
        const last = whole.requests.at(-1)?.messages ?? []
        const before = await messagesOf(whole.store)
        expect(factsIn(last)).toEqual(factsIn(before))
      },
    ),
    { numRuns: Number(process.env.RUNS ?? 60) },
  )
  expect(compacted).toBeGreaterThan(30)
})
