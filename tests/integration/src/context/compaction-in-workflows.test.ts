import { chatModelAgent } from '@troupe/chat-model'
import { compactedFrom, compaction } from '@troupe/context'
import { loop, parallel, runner, sequential } from '@troupe/flow'
import { type Agent, defineTool, textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { describe, expect, it } from 'vitest'
import { ANN, factKeeper, sizedModel } from './talk.fixture.ts'

const session = { session: ANN }
const LONG = 'x'.repeat(400)
const look = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, invoke: () => LONG })

/** An agent with a compaction of its own. */
function guide(name: string, turns = 1) {
  const [small, model] = [
    factKeeper(),
    sizedModel((_, call) => (call % turns ? { toolCalls: [{ name: 'look' }] } : LONG)),
  ]
  const handlers = [compaction({ model: small, maxTokens: 400, keepTokens: 150 })]
  return { small, model, agent: chatModelAgent({ name, model, tools: [look], handlers }) }
}

/** Five turns of a conversation with the agent that is made of a compacted one. */
async function conversation(wrap: (agent: Agent) => Agent) {
  const store = memoryStore()
  const { small, model, agent } = guide('guide')
  const chat = runner({ agent: wrap(agent), store, history: { from: compactedFrom } })
  for (let n = 1; n <= 5; n++) await chat.query(`FACT: fact ${n}\n${LONG}`, session)
  return { store, summaries: small.requests.length, requests: model.requests.map(({ messages }) => messages) }
}

describe('a history that is too large', () => {
  it.each([
    ['sequential', (agent: Agent) => sequential({ name: 'all', agents: [agent] })],
    ['loop', (agent: Agent) => loop({ name: 'all', agents: [agent], maxIterations: 1 })],
    [
      'sequential in loop',
      (agent: Agent) => loop({ name: 'all', agents: [sequential({ name: 's', agents: [agent] })], maxIterations: 1 }),
    ],
  ])('is compacted in %s as it is in the agent alone, and the summary stays with the thread', async (_, wrap) => {
    const alone = await conversation((agent) => agent)
    const inWorkflow = await conversation(wrap)
    expect(alone.summaries).toBeGreaterThan(1)
    expect(inWorkflow.summaries).toBe(alone.summaries)
    expect(inWorkflow.requests.map(({ length }) => length)).toEqual(alone.requests.map(({ length }) => length))
    expect((await inWorkflow.store.threads.get(ANN))?.state).toHaveProperty('context:summary')
  })

  it('is compacted for all iterations of a loop in a branch of a parallel workflow, and for the run alone', async () => {
    const store = memoryStore()
    const [left, right] = [guide('left', 2), guide('right', 2)]
    const inLoop = ({ agent }: typeof left) => loop({ name: `${agent.name}s`, agents: [agent], maxIterations: 6 })
    await runner({ agent: parallel({ name: 'both', agents: [inLoop(left), inLoop(right)] }), store }).query(
      'Go.',
      session,
    )
    for (const { small, model } of [left, right]) {
      const compactedSince = model.requests.findIndex(({ messages }) => messages[0]?.id.startsWith('summary:'))
      expect(compactedSince).toBeGreaterThan(0)
      for (const { messages } of model.requests.slice(compactedSince)) expect(messages[0]?.id).toMatch(/^summary:/)
      expect(small.requests.length).toBeGreaterThan(1)
    }
    expect((await store.threads.get(ANN))?.state).toEqual({})
  })

  it('is compacted by the workflow after an agent alone has compacted it', async () => {
    const store = memoryStore()
    const history = { from: compactedFrom }
    const before = guide('guide')
    const desk = runner({ agent: before.agent, store, history })
    for (let n = 1; n <= 5; n++) await desk.query(`FACT: fact ${n}\n${LONG}`, session)
    const after = guide('guide')
    await runner({ agent: sequential({ name: 's', agents: [after.agent] }), store, history }).query('And now?', session)
    expect(textOf(after.model.requests[0]?.messages[0]?.content ?? '')).toContain('- fact 1')
  })
})
