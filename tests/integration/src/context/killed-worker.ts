/** One process that begins or goes on with a run whose history is compacted, and notes in a file what it does. */
import { appendFileSync } from 'node:fs'
import { chatModelAgent } from '@troupe/chat-model'
import { compactedFrom, compaction } from '@troupe/context'
import { runner } from '@troupe/flow'
import { type ChatModel, defineTool, type ModelPart, type ModelRequest, type Store, textOf } from '@troupe/kernel'
import { sqliteStore } from '@troupe/store-sqlite'

const [path = '', notes = '', threadId = ''] = process.argv.slice(2)
const session = { app: 'test', user: 'ann', threadId }
const TURNS = 12
const note = (...words: readonly string[]) => appendFileSync(notes, `${words.join(' ')}\n`)
const pause = () => new Promise((resolve) => setTimeout(resolve, 2))

/** A model that takes its time. */
function model(name: string, answer: (request: ModelRequest) => readonly ModelPart[]): ChatModel {
  return {
    name,
    async *stream(request) {
      await pause()
      for (const part of answer(request)) yield part
    },
  }
}

const usageOf = ({ messages }: ModelRequest) => ({ inputTokens: JSON.stringify(messages).length / 4, outputTokens: 1 })

const agent = chatModelAgent({
  name: 'guide',
  maxIterations: 100,
  model: model('large', (request) => {
    const turn = Number(request.step.split(':').at(-1))
    const usage = usageOf(request)
    if (turn >= TURNS)
      return [
        { type: 'text-delta', delta: 'Done.' },
        { type: 'finish', reason: 'stop', usage },
      ]
    const callId = `call-of-turn-${turn}`
    return [
      { type: 'tool-call-start', callId, name: 'look' },
      { type: 'tool-call-delta', callId, delta: `{"turn":${turn}}` },
      { type: 'tool-call-end', callId },
      { type: 'finish', reason: 'tool-calls', usage },
    ]
  }),
  tools: [
    defineTool({
      name: 'look',
      description: 'Looks.',
      parameters: { type: 'object', properties: { turn: { type: 'integer' } }, required: ['turn'] },
      effect: 'idempotent',
      invoke: ({ turn }) => `FACT ${turn}. ${'x'.repeat(400)}`,
    }),
  ],
  handlers: [
    compaction({
      model: model('small', (request) => {
        const facts = [...textOf(request.messages[0]?.content ?? '').matchAll(/FACT (\d+)\./g)]
        note('asked', `${facts.at(-1)?.[1]}`)
        const delta = `## Facts\n${facts.map(([fact]) => `- ${fact}`).join('\n')}`
        return [
          { type: 'text-delta', delta },
          { type: 'finish', reason: 'stop', usage: usageOf(request) },
        ]
      }),
      maxTokens: 700,
      keepTokens: 250,
    }),
  ],
})

const store = sqliteStore({ path })
/** The store, which notes each summary that it has stored for good, by the last fact in it. */
const noting: Store = {
  ...store,
  journal: {
    ...store.journal,
    async append(ref, runId, entries, token) {
      await store.journal.append(ref, runId, entries, token)
      for (const entry of entries as readonly { readonly step?: string }[]) {
        if (!entry.step?.includes('compaction')) continue
        const facts = [...JSON.stringify(entry).matchAll(/FACT (\d+)/g)]
        note('stored', `${facts.at(-1)?.[1]}`)
      }
    },
  },
}
const desk = runner({
  agent,
  store: noting,
  history: { from: compactedFrom },
  limits: { leaseMs: 200, pollMs: 50 },
  busy: 'queue',
})
const thread = await store.threads.get(session)
note('begun')
if (thread?.unfinished !== undefined) await desk.continue(session)
else if (!thread || thread.version === 0) await desk.query('Begin.', { session, runId: threadId })
note('complete')
await store[Symbol.asyncDispose]()
