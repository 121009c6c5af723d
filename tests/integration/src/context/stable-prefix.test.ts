import { compactedFrom, compaction, offload, promptCache, toolSearch } from '@troupe/context'
import { defineTool, type ModelRequest, type Tool } from '@troupe/kernel'
import { sqliteStore } from '@troupe/store-sqlite'
import type { ScriptedTurn } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { ANN, factKeeper, sizedModel, talk } from './talk.fixture.ts'

/** A request in the order in which vendors cache it. */
function written({ tools, instruction, messages }: ModelRequest): string {
  return JSON.stringify(tools) + JSON.stringify(instruction) + messages.map((message) => JSON.stringify(message)).join()
}

/** The share of all input that is the same as in the request before. */
function unchangedShare(requests: readonly ModelRequest[]): number {
  let [same, all, before] = [0, 0, '']
  for (const text of requests.map(written)) {
    let length = 0
    while (length < text.length && text[length] === before[length]) length++
    same += length
    all += text.length
    before = text
  }
  return same / all
}

const PARAGRAPH = 'The harbour was quiet, and the ferry to the islands left at nine as it does each day. '.repeat(4)
const TOOLS: readonly Tool[] = Array.from({ length: 200 }, (_, i) =>
  defineTool({
    name: `tool_${i}`,
    description: `Does what number ${i} does.`,
    parameters: { type: 'object', properties: { text: { type: 'string' } } },
    invoke: () => (i === 7 ? PARAGRAPH.repeat(80) : PARAGRAPH),
  }),
)

/** A turn of the conversation: three searches, a large result that is read, calls, and mostly answers. */
function turnOf(turn: number, step: number): ScriptedTurn {
  const calls: { readonly [turn: number]: readonly (readonly [string, { [key: string]: string }])[] } = {
    1: [
      ['search_tools', { query: 'tool_7' }],
      ['tool_7', {}],
      ['read_result', { id: 'c-1-1', find: 'ferry' }],
    ],
    2: [
      ['search_tools', { query: 'tool_12' }],
      ['tool_12', {}],
    ],
    20: [
      ['search_tools', { query: 'tool_150' }],
      ['tool_150', {}],
    ],
  }
  const own = calls[turn] ?? (turn % 5 === 0 ? [['tool_12', { text: `${turn}` }] as const] : [])
  const call = own[step]
  if (!call) return `Answer ${turn}. ${PARAGRAPH}`
  return { toolCalls: [{ id: `c-${turn}-${step}`, name: call[0], arguments: call[1] }] }
}

test.each([
  ['a thread that is never compacted', 1_000_000],
  ['a thread that is compacted on its way', 5_000],
])(
  'in a conversation of 50 turns at least 90 % of the input is what the request before began with: %s',
  async (_, maxTokens) => {
    await using store = sqliteStore({ path: ':memory:' })
    const small = factKeeper()
    let turn = 0
    let step = 0
    const model = sizedModel(() => turnOf(turn, step++))
    const handlers = () => [
      toolSearch({ limit: 1 }),
      offload({ store }),
      compaction({ model: small, maxTokens, keepTokens: 1_500, store }),
      promptCache(),
    ]
    const made = handlers()
    for (turn = 1; turn <= 50; turn++) {
      step = 0
      // Now and then another process goes on.
      const desk = talk(model, turn % 10 === 0 ? handlers() : made, {
        store,
        tools: TOOLS,
        history: { from: compactedFrom },
      })
      await desk.query(`Question ${turn}. FACT: the number of turn ${turn} is ${turn * 37}.`, { session: ANN })
    }
    expect(model.requests.length).toBeGreaterThan(60)
    expect(unchangedShare(model.requests)).toBeGreaterThanOrEqual(0.9)
    expect(small.requests.length > 0).toBe(maxTokens < 1_000_000)
    const keys = new Set(model.requests.map(({ options }) => options.cache?.key))
    expect([...keys]).toEqual([expect.stringMatching(/^troupe-[0-9a-z]{8,}$/)])
  },
)
