import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import {
  budget,
  CARD,
  EMAIL,
  guardrails,
  historyBudget,
  IBAN,
  logging,
  redaction,
  toolCache,
  toolCallLimit,
  truncateResults,
} from '@troupe/handlers'
import {
  type AgentEvent,
  type AgentHandler,
  type ChatModel,
  defineTool,
  type ModelPart,
  type Tool,
} from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { memory } from '@troupe/memory'
import { otel } from '@troupe/otel'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const store = memoryStore()
const pass = () => undefined
const later = async () => undefined

/** Handlers that have nothing to do. */
const IDLE: { readonly [name: string]: () => AgentHandler } = {
  budget: () =>
    budget({
      store,
      limits: [
        { per: 'run', tokens: 1e12, calls: 1e6 },
        { per: 'owner', tokens: 1e12, windowMs: 1000 },
      ],
    }),
  guardrails: () => guardrails({ output: pass, toolResults: pass }),
  'guardrails that wait': () => guardrails({ output: later, toolResults: later, hold: 'answer' }),
  redaction: () =>
    redaction({
      rules: [EMAIL, CARD, IBAN, { name: 'x', match: ['Bluebird', 'a b c'] }, { name: 'y', match: /\bz{9}\b/g }],
    }),
  memory: () => memory({ store }).handler,
  historyBudget: () => historyBudget({ maxTokens: 1e9 }),
  truncateResults: () => truncateResults({ maxChars: 1e6 }),
  toolCallLimit: () => toolCallLimit({ perRun: 1e6 }),
  toolCache: () => toolCache(),
  logging: () => logging({ log: pass }),
  otel: () => otel().handler,
}

const piece = fc.constantFrom('Hello. ', 'a', ' b', 'cd@', '4111 ', '\n', '。', '😀', 'Blue', '"\\', '')
const pieces = fc.array(piece, { maxLength: 6 })
const call = fc.record({ name: fc.constantFrom('look', 'read', 'fail'), args: pieces })
const turn = fc.record({
  reasoning: pieces,
  text: pieces,
  calls: fc.array(call, { maxLength: 3 }),
  parts: fc.boolean(),
})
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never

function partsOf({ reasoning, text, calls, parts }: Turn, number: number): readonly ModelPart[] {
  const said: readonly ModelPart[] = [
    ...reasoning.map((delta) => ({ type: 'reasoning-delta', delta }) as const),
    ...(parts ? [{ type: 'part-end', metadata: { vendor: { number } } } as const] : []),
    ...text.map((delta) => ({ type: 'text-delta', delta }) as const),
  ]
  const made = calls.flatMap(({ name, args }, i): readonly ModelPart[] => {
    const callId = `c${number}-${i}`
    const whole = JSON.stringify({ q: args.join('') })
    return [
      { type: 'tool-call-start', callId, name },
      { type: 'tool-call-delta', callId, delta: whole.slice(0, 3) },
      { type: 'tool-call-delta', callId, delta: whole.slice(3) },
      { type: 'tool-call-end', callId },
    ]
  })
  const finish = { type: 'finish', reason: 'stop', usage: { inputTokens: 3, outputTokens: 2 }, model: 'm' } as const
  return [...said, ...made, finish]
}

const tools: readonly Tool[] = [
  defineTool({
    name: 'look',
    description: '',
    parameters: { type: 'object' },
    effect: 'pure',
    invoke: () => ({ content: 'seen', data: { n: 1 } }),
  }) as Tool,
  defineTool({
    name: 'read',
    description: '',
    parameters: { type: 'object' },
    async *stream() {
      yield 'one '
      yield { type: 'text', text: 'two' }
    },
  }) as Tool,
  defineTool({
    name: 'fail',
    description: '',
    parameters: { type: 'object' },
    invoke: () => Promise.reject(new Error('no')),
  }) as Tool,
]

/** What a run shows: its events in order, with the texts joined that come in pieces. */
async function shown(turns: readonly Turn[], handlers: readonly AgentHandler[]): Promise<unknown> {
  const answers = [...turns.map(partsOf), partsOf({ reasoning: [], text: ['Hello. '], calls: [], parts: false }, 99)]
  let asked = 0
  const model: ChatModel = {
    name: 'm',
    async *stream() {
      yield* answers[Math.min(asked++, answers.length - 1)] ?? []
    },
  }
  const own = memoryStore()
  const agent = chatModelAgent({ name: 'guide', model, tools, handlers })
  const chat = runner({ agent, store: own })
  const session = { app: 'test', user: 'ann', threadId: 't' }
  const texts: Record<string, string> = {}
  const events: AgentEvent[] = []
  /** By call: those of one turn end in the order in which they are done. */
  const calls: Record<string, AgentEvent[]> = {}
  for await (const event of chat.run('Go.', { session, runId: 'r' }).eventsWithoutThrowing()) {
    const key = pieceOf(event)
    if (event.type === 'tool-start' || event.type === 'tool-end') {
      calls[event.callId] ??= []
      calls[event.callId]?.push(event)
    } else if (key === undefined) events.push(event)
    else if ('delta' in event)
      texts[key] =
        (texts[key] ?? '') + (typeof event.delta === 'string' ? event.delta : (event.delta as { text: string }).text)
  }
  return { events, calls, texts, messages: await own.threads.messages(session) }
}

function pieceOf(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return `${event.type} ${event.messageId}`
    case 'tool-call-delta':
    case 'tool-delta':
      return `${event.type} ${event.callId}`
    default:
      return undefined
  }
}

test('handlers that have nothing to do change nothing, in any combination and order (property)', async () => {
  const names = fc.shuffledSubarray(Object.keys(IDLE), { minLength: 1 })
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 3 }), names, async (turns, chosen) => {
      const handlers = chosen.map((name) => (IDLE[name] as () => AgentHandler)())
      expect(await shown(turns, handlers)).toEqual(await shown(turns, []))
    }),
    { numRuns: Number(process.env.RUNS ?? 400) },
  )
}, 60_000)
