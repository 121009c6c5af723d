import { chatModelAgent } from '@troupe/chat-model'
import { compactedFrom, compaction } from '@troupe/context'
import { runner } from '@troupe/flow'
import { type AgentHandler, defineTool, textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { memory } from '@troupe/memory'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { ANN, factKeeper, messagesOf, talk } from './talk.fixture.ts'

const session = { session: ANN }
const LONG = 'x'.repeat(400)
const large = { inputTokens: 500, outputTokens: 1 }
const look = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, invoke: () => LONG })

async function remembering() {
  const store = memoryStore()
  const known = memory({ store })
  await known.remember(ANN, 'Ann is allergic to nuts.')
  return { store, known, small: factKeeper() }
}

describe('what a handler shows the model for one run', () => {
  it('is not what a thread is loaded and shown from', async () => {
    const { store, known, small } = await remembering()
    // As much stays as the note and the question have, so that the cut would be at the note.
    for (let keepTokens = 30; keepTokens < 100; keepTokens += 5) {
      const ref = { ...ANN, threadId: `keeps ${keepTokens}` }
      const model = scriptedModel([{ text: 'x'.repeat(2_000), usage: large }, 'two', 'three'])
      const desk = talk(model, [known.handler, compaction({ model: small, maxTokens: 100, keepTokens })], {
        store,
        history: { from: compactedFrom },
      })
      for (const n of ['one', 'two', 'three']) await desk.query(`nuts ${n}`, { session: ref })
      const cut = compactedFrom((await store.threads.get(ref)) ?? { state: {} })
      expect((await messagesOf(store, ref)).map(({ id }) => id)).toContain(cut)
      expect(model.requests[2]?.messages.map(({ content }) => textOf(content))).not.toContain('nuts one')
    }
  })

  it('is not in the summary, so that what is forgotten is not shown again', async () => {
    const { store, known, small } = await remembering()
    const model = scriptedModel([
      { toolCalls: [{ name: 'look' }], usage: large },
      { toolCalls: [{ name: 'look' }], usage: large },
      'Done.',
      'Later.',
    ])
    const desk = talk(model, [known.handler, compaction({ model: small, maxTokens: 100, keepTokens: 10 })], {
      store,
      tools: [look],
    })
    await desk.query(`A cake, no nuts. ${LONG}`, session)
    expect(small.requests.length).toBeGreaterThan(1)
    expect(JSON.stringify(small.requests)).not.toContain('allergic')
    // The run itself goes on with what it was shown.
    for (const { messages } of model.requests) {
      const notes = messages.filter(({ role, content }) => role === 'system' && textOf(content).includes('allergic'))
      expect(notes).toHaveLength(1)
    }
    await known.forget(ANN, 'all')
    await desk.query('What now?', session)
    expect(model.requests.at(-1)?.messages[0]?.id).toMatch(/^summary:/)
    expect(JSON.stringify(model.requests.at(-1))).not.toContain('allergic')
    expect(JSON.stringify((await store.threads.get(ANN))?.state)).not.toContain('allergic')
  })

  it('is not in the summary either if another handler has changed its words', async () => {
    const { store, known, small } = await remembering()
    const louder: AgentHandler = {
      name: 'louder',
      beforeAgent(_ctx, config) {
        const messages = config.input.messages.map((message) =>
          message.role === 'system' ? { ...message, content: textOf(message.content).toUpperCase() } : message,
        )
        config.input = { messages }
      },
    }
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }], usage: large }, 'Done.'])
    const handlers = [known.handler, louder, compaction({ model: small, maxTokens: 100, keepTokens: 10 })]
    await talk(model, handlers, { store, tools: [look] }).query(`A cake, no nuts. ${LONG}`, session)
    expect(small.requests).toHaveLength(1)
    expect(JSON.stringify((await store.threads.get(ANN))?.state)).not.toContain('ALLERGIC')
  })

  it('is not the request of a person, as the correction of an output is not', async () => {
    const store = memoryStore()
    const output = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } as const
    const model = scriptedModel([
      { toolCalls: [{ name: 'look' }], usage: large },
      { text: `no ${LONG}`, usage: large },
      '{"ok":true}',
      '{"ok":true}',
    ])
    const handlers = [compaction({ model: factKeeper(), maxTokens: 100, keepTokens: 10 })]
    const agent = chatModelAgent({ name: 'guide', model, output, tools: [look], handlers })
    const desk = runner({ agent, store, history: { from: compactedFrom } })
    await desk.query('Look around, please.', session)
    const thread = await store.threads.get(ANN)
    expect((await messagesOf(store)).map(({ id }) => id)).toContain(compactedFrom(thread ?? { state: {} }))
    expect(thread?.state['context:summary']).toMatchObject({ request: 'Look around, please.' })
  })
})
