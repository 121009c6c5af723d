import { chatModelAgent } from '@troupe/chat-model'
import { budget, EMAIL, guardrails, redaction } from '@troupe/handlers'
import { type AgentHandler, type ChatModel, defineTool, type ModelPart, stream } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { startRun } from '@troupe/kernel/run'
import { memory } from '@troupe/memory'
import { expectText } from '../check-work.ts'
import type { Workload } from '../measure.ts'

/** Turns of a run: all but the last call a tool. */
const TURNS = 11

const usage = { inputTokens: 1, outputTokens: 1 }

/** A model without latency, which calls a tool in every turn but the last. */
const model: ChatModel = {
  name: 'bench:model',
  stream: ({ messages }) =>
    stream<ModelPart>(async (sink) => {
      const done = messages.filter(({ role }) => role === 'tool').length
      for (const part of done < TURNS - 1 ? callOf(done) : ANSWER) {
        const wait = sink.write(part)
        if (wait) await wait
      }
    }),
}

const ANSWER: readonly ModelPart[] = [
  { type: 'text-delta', delta: 'Done.' },
  { type: 'finish', reason: 'stop', usage },
]

function callOf(turn: number): readonly ModelPart[] {
  const callId = `c${turn}`
  return [
    { type: 'tool-call-start', callId, name: 'look' },
    { type: 'tool-call-delta', callId, delta: '{}' },
    { type: 'tool-call-end', callId },
    { type: 'finish', reason: 'tool-calls', usage },
  ]
}

const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, invoke: () => 'seen' })

function run(handler?: AgentHandler): () => Promise<unknown> {
  const agent = chatModelAgent({ name: 'a', model, tools: [look], ...(handler && { handlers: [handler] }) })
  return () => expectText(5, startRun(agent, 'Go.'))
}

/** A handler that passes everything on: what any wrap of model calls and tool calls costs. */
const passing: AgentHandler = {
  name: 'passing',
  wrapModelCall: (ctx, request, next) => next(ctx, request),
  wrapInvokableToolCall: (ctx, input, next) => next(ctx, input),
}

const nothing = () => undefined

const idle: { readonly [name: string]: AgentHandler } = {
  'a handler that passes everything on': passing,
  'budget() with prices alone': budget({ price: () => 0 }),
  'budget() below a limit per run': budget({ limits: [{ per: 'run', tokens: 1e12 }] }),
  'guardrails() that find nothing': guardrails({ output: nothing, toolResults: nothing }),
  'redaction() that finds nothing': redaction({ rules: [EMAIL, { name: 'codename', match: 'Bluebird' }] }),
  'memory() that knows nothing': memory({ store: memoryStore() }).handler,
}

/** What a turn costs more with a handler that has nothing to do. Contract: the hand-written side is the same turn without it. */
export function handlerWorkloads(): readonly Workload[] {
  const alone = run()
  return Object.entries(idle).map(([name, handler]) => ({
    name: `a turn with ${name}`,
    unit: 'turn',
    units: TURNS,
    handWritten: alone,
    troupe: run(handler),
  }))
}
