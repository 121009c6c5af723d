import { compactedFrom, compaction } from '@troupe/context'
import { textOf } from '@troupe/kernel'
import { sqliteStore } from '@troupe/store-sqlite'
import { scriptedModel } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { ANN, asked, messagesOf, sizedModel, talk } from './talk.fixture.ts'

const session = { session: ANN }
const FILLER = 'Then we talked about the weather, the harbour and the long way home. '.repeat(5)
const WORDS = ['amber', 'birch', 'cobalt', 'dahlia', 'ember', 'fjord', 'garnet', 'hazel', 'indigo', 'jasper']
const FACTS = Array.from({ length: 20 }, (_, i) => `The code of locker ${i + 1} is ${WORDS[i % 10]}-${(i + 3) * 97}.`)

/** A summariser of middling quality: it keeps every other fact that it is told, and calls one line in three obsolete. */
function forgetfulSummariser() {
  return scriptedModel(
    [
      (request) => {
        const facts = [...asked(request).matchAll(/The code of locker (\d+) is [\w-]+\./g)]
        const numbers = [...asked(request).matchAll(/- \[(\d+)\]/g)].map(([, no]) => Number(no))
        const kept = facts.filter(([, no]) => Number(no) % 2 === 0).map(([fact]) => `- ${fact}`)
        return `## Facts\n${kept.join('\n')}\n## Obsolete\n- ${numbers.filter((no) => no % 3 === 0).join(', ') || 'none'}`
      },
    ],
    { repeat: true },
  )
}

test('each of 20 facts of a thread that was compacted five times is in the summary, or read_history finds it', async () => {
  await using store = sqliteStore({ path: ':memory:' })
  const small = forgetfulSummariser()
  const handler = compaction({ model: small, maxTokens: 800, keepTokens: 200, store })
  const desk = talk(
    sizedModel(() => `I see. ${FILLER}`),
    [handler],
    { store, history: { from: compactedFrom } },
  )
  for (const fact of FACTS) await desk.query(`${fact} ${FILLER}`, session)
  expect(small.requests.length).toBeGreaterThanOrEqual(5)

  const finder = sizedModel((request, call) => {
    if (request.messages.at(-1)?.role === 'tool') return 'Found.'
    const toolCalls = [{ id: `find-${call}`, name: 'read_history', arguments: { query: asked(request) } }]
    return { toolCalls }
  })
  const asking = talk(finder, [handler], { store, history: { from: compactedFrom } })
  const found: string[] = []
  for (const [i, fact] of FACTS.entries()) {
    await asking.query(`locker ${i + 1} code`, session)
    const { messages } = finder.requests.at(-1) ?? { messages: [] }
    const [summary] = messages
    const read = textOf(messages.at(-1)?.content ?? '')
    if (textOf(summary?.content ?? '').includes(fact)) found.push('summary')
    else if (read.includes(fact)) found.push('tool')
    else found.push(`lost: ${fact}`)
  }
  expect(found.filter((where) => where.startsWith('lost'))).toEqual([])
  expect(new Set(found)).toEqual(new Set(['summary', 'tool']))
  // The originals are all there.
  const texts = (await messagesOf(store)).map(({ content }) => textOf(content))
  for (const fact of FACTS) expect(texts.some((text) => text.startsWith(fact))).toBe(true)
})

test('read_history reads on from a number, says that there is more, and finds what the run itself has cut off', async () => {
  await using store = sqliteStore({ path: ':memory:' })
  const handler = compaction({ model: forgetfulSummariser(), maxTokens: 1_200, keepTokens: 100, store })
  const script = ['read_history', 'read_history', 'read_history', 'read_history'].map((name, i) => ({
    toolCalls: [
      { name, arguments: [{ from: 1 }, { from: 99_999 }, { query: 'zzz' }, { query: 'locker 31' }][i] ?? {} },
    ],
  }))
  const look = {
    name: 'look',
    description: '',
    parameters: { type: 'object' },
    kind: 'read',
    invoke: () => `The code of locker 31 is mine-31. ${FILLER.repeat(3)}`,
  } as const
  const model = sizedModel((_, call) =>
    call <= 14 ? { toolCalls: [{ name: 'look' }] } : (script[call - 15] ?? 'Done.'),
  )
  const desk = talk(model, [handler], { store, tools: [look] })
  await desk.query(`Begin. ${FILLER}`, session)
  const results = (await messagesOf(store)).flatMap((message) =>
    message.role === 'tool' && message.name === 'read_history' ? [textOf(message.content)] : [],
  )
  expect(results).toHaveLength(4)
  expect(results[0]).toMatch(/^#1\n\[user\]\nBegin\. /)
  expect(results[0]).toMatch(/read on with from \d+\.$/)
  expect(results[1]).toBe('There are no earlier messages with this number.')
  expect(results[2]).toMatch(/^No earlier message matches "zzz"\. There are \d+, the first has number 1\.$/)
  expect(results[3]).toContain('The code of locker 31 is mine-31.')
})
