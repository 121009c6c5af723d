import { compaction, offload, promptCache, toolSearch } from '@troupe/context'
import {
  budget,
  CARD,
  guardrails,
  historyBudget,
  logging,
  redaction,
  toolCache,
  toolCallLimit,
  truncateResults,
} from '@troupe/handlers'
import { type AgentEvent, type AgentHandler, defineTool, type FullStore, type ModelRequest } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { memory } from '@troupe/memory'
import { otel } from '@troupe/otel'
import { fakeClock, type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ANN, messagesOf, talk } from './talk.fixture.ts'

/** Handlers that have nothing to do. */
const IDLE: { readonly [name: string]: (store: FullStore) => AgentHandler } = {
  compaction: (store) => compaction({ model: scriptedModel([]), store }),
  toolSearch: () => toolSearch(),
  offload: (store) => offload({ store }),
  promptCache: () => promptCache(),
  historyBudget: () => historyBudget({ maxTokens: 1_000_000 }),
  logging: () => logging({ log: () => {} }),
  toolCache: () => toolCache(),
  toolCallLimit: () => toolCallLimit({ perRun: 1_000 }),
  truncateResults: () => truncateResults(),
  budget: (store) => budget({ store, limits: [{ per: 'owner', tokens: 1_000_000, windowMs: 86_400_000 }] }),
  guardrails: () => guardrails({ output: () => undefined, toolResults: () => undefined }),
  redaction: () => redaction({ rules: [CARD] }),
  memory: (store) => memory({ store }).handler,
  otel: () => otel().handler,
}

const tools = ['look', 'add', 'fail'].map((name) =>
  defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    invoke: (_, ctx) => {
      ctx.state.set(name, Number(ctx.state.get(name) ?? 0) + 1)
      if (name === 'fail') throw new Error('no')
      return `${name} ${ctx.state.get(name)}`
    },
  }),
)

const turns = fc.array(
  fc.array(fc.constantFrom('look', 'add', 'fail'), { minLength: 1, maxLength: 3 }).map(
    (names): ScriptedTurn => ({
      text: 'Let me see.',
      reasoning: 'Hm.',
      toolCalls: names.map((name) => ({ name })),
    }),
  ),
  { maxLength: 3 },
)
const talks = fc.array(turns, { minLength: 1, maxLength: 3 })
const lists = fc.shuffledSubarray(Object.keys(IDLE), { minLength: 1 })

/** Everything that a conversation shows and leaves behind. */
async function held(conversation: readonly (readonly ScriptedTurn[])[], names: readonly string[]) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const model = scriptedModel(conversation.flatMap((calls, i): ScriptedTurn[] => [...calls, `Answer ${i}.`]))
  const desk = talk(
    model,
    names.map((name) => (IDLE[name] as (typeof IDLE)[string])(store)),
    { store, tools, clock },
  )
  const events: AgentEvent[] = []
  for (const [i] of conversation.entries()) {
    for await (const event of desk.query(`Question ${i}`, { session: ANN, runId: `R${i}` })) events.push(event)
  }
  const thread = await store.threads.get(ANN)
  return { events, thread, messages: await messagesOf(store), requests: model.requests.map(withoutCache) }
}

/** That is what one of them asks for in every request. */
function withoutCache({ options: { cache: _, ...options }, ...request }: ModelRequest): ModelRequest {
  return { ...request, options }
}

test('handlers that have nothing to do change nothing, whichever they are and in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(talks, lists, async (conversation, names) => {
      expect(await held(conversation, names)).toEqual(await held(conversation, []))
    }),
    { numRuns: Number(process.env.RUNS ?? 60) },
  )
})
