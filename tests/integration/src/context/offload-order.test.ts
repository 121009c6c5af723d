import { offload } from '@troupe/context'
import { guardrails, redaction, toolCache, truncateResults } from '@troupe/handlers'
import { type AgentHandler, defineTool, type FullStore, textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { ANN, talk } from './talk.fixture.ts'

const TEXT = Array.from({ length: 6_000 }, (_, i) => `entry ${i}`).join('\n')

/** A run whose model reads all of a large result, by its pages: what it has seen of it. */
async function readAll(store: FullStore, handlers: readonly AgentHandler[], threadId = 't') {
  const look = defineTool({
    name: 'look',
    description: '',
    parameters: { type: 'object' },
    effect: 'pure',
    invoke: () => TEXT,
  })
  const id = `call-in-${threadId}`
  const seen: string[] = []
  const model = scriptedModel(
    [
      ({ messages }) => {
        const last = messages.at(-1)
        if (last?.role !== 'tool') return { toolCalls: [{ id, name: 'look' }] }
        const text = textOf(last.content)
        seen.push(text)
        const next = last.name === 'look' ? 0 : /\n\[\d+ characters follow, from (\d+) on\.\]$/.exec(text)?.[1]
        if (next === undefined) return 'Read.'
        return { toolCalls: [{ id: `${id}-${next}`, name: 'read_result', arguments: { id, from: Number(next) } }] }
      },
    ],
    { repeat: true },
  )
  await talk(model, handlers, { store, tools: [look] }).query('Look.', { session: { ...ANN, threadId } })
  const [preview, ...pages] = seen
  return { preview, pages, text: pages.map((page) => page.replace(/\n\[\d+ characters follow.*\]$/, '')).join('') }
}

describe('a large result', () => {
  it('is kept whole and read by whole pages, where truncateResults comes before offload', async () => {
    const store = memoryStore()
    const { preview, pages, text } = await readAll(store, [truncateResults(), offload({ store })])
    expect(preview).toContain(`a result of ${TEXT.length} characters`)
    expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(20_000)
    expect(text).toBe(TEXT)
  })

  it('that comes from a cache is read in every thread, where toolCache comes after offload', async () => {
    const store = memoryStore()
    const handlers = [offload({ store }), toolCache()]
    for (const threadId of ['one', 'two']) {
      const { preview, text } = await readAll(store, handlers, threadId)
      expect(preview).toContain(`id "call-in-${threadId}"`)
      expect(text).toBe(TEXT)
    }
  })

  it('that is refused or redacted is stored so, where guardrails and redaction come after offload', async () => {
    const store = memoryStore()
    const refusing = guardrails({ toolResults: (text) => (text.includes('entry 5999') ? { refuse: 'no' } : undefined) })
    const { preview } = await readAll(store, [offload({ store }), refusing], 'refused')
    expect(preview).not.toContain('entry 1\n')
    expect(await store.blobs.get({ ...ANN, threadId: 'refused' }, 'call-in-refused')).toBeUndefined()
    const redacting = redaction({ rules: [{ name: 'last', match: 'entry 5999' }] })
    const { text } = await readAll(store, [offload({ store }), redacting], 'redacted')
    expect(text).toContain('entry 5998')
    const stored = await store.blobs.get({ ...ANN, threadId: 'redacted' }, 'call-in-redacted')
    expect(stored).toBe(text)
    expect(stored).not.toContain('entry 5999')
  })

  it('is found in places that together are no larger than a page', async () => {
    const store = memoryStore()
    const text = `${'needle '.repeat(300)}end`
    const look = defineTool({ name: 'look', description: '', parameters: { type: 'object' }, invoke: () => text })
    const model = scriptedModel([
      { toolCalls: [{ id: 'looked-at-once', name: 'look' }] },
      { toolCalls: [{ name: 'read_result', arguments: { id: 'looked-at-once', find: 'needle' } }] },
      ({ messages }) => textOf(messages.at(-1)?.content ?? ''),
    ])
    const desk = talk(model, [offload({ store, maxChars: 1_000 })], { store, tools: [look] })
    const found = (await desk.query('Look.', { session: ANN })).text
    expect(found.length).toBeLessThanOrEqual(1_000)
    expect(found).toMatch(/^at 0: …needle[\s\S]*\[There are more, from \d+ on\.\]$/)
  })
})
