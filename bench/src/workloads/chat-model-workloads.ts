import { chatModelAgent } from '@troupe/chat-model'
import {
  type Agent,
  type AgentHandler,
  type ChatModel,
  defineTool,
  type Message,
  type ModelPart,
  type ModelRequest,
  stream,
  type Tool,
} from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { countDeltas, expectText } from '../check-work.ts'
import type { Workload } from '../measure.ts'

const STEPS = 10
const DELTAS = 5_000
const finish = (reason: 'stop' | 'tool-calls'): ModelPart => ({
  type: 'finish',
  reason,
  usage: { inputTokens: 1, outputTokens: 1 },
})
const STOP = finish('stop')
const CALLS = finish('tool-calls')

/** A model without latency: one tool call per step until the history has enough results, then an answer in deltas. */
function model(steps: number, deltas: number): ChatModel {
  return {
    name: 'bench',
    stream: (request) =>
      stream<ModelPart>(async (sink) => {
        const done = toolResults(request)
        const parts = done < steps ? call(done) : answer(deltas)
        for (const part of parts) {
          const wait = sink.write(part)
          if (wait) await wait
        }
      }),
  }
}

function toolResults({ messages }: Pick<ModelRequest, 'messages'>): number {
  let results = 0
  for (let i = messages.length - 1; i >= 0 && messages[i]?.role !== 'user'; i--)
    if (messages[i]?.role === 'tool') results++
  return results
}

function call(step: number): ModelPart[] {
  const callId = `c${step}`
  return [
    { type: 'tool-call-start', callId, name: 'add' },
    { type: 'tool-call-delta', callId, delta: '{"a":1,"b":2}' },
    { type: 'tool-call-end', callId },
    CALLS,
  ]
}

const DELTA: ModelPart = { type: 'text-delta', delta: 'word ' }

function* answer(deltas: number): Generator<ModelPart> {
  for (let i = 0; i < deltas; i++) yield DELTA
  yield STOP
}

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  parameters: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  kind: 'think',
  invoke: ({ a, b }) => String(a + b),
}) as Tool

const question: Message = { id: 'u1', role: 'user', content: 'Go.' }

/** The loop that one would write without a framework: call the model, run the tools, repeat. */
async function loop(chat: ChatModel, history: readonly Message[]): Promise<string> {
  const messages = history.slice()
  const { signal } = new AbortController()
  for (;;) {
    const answer: Answer = { text: '', calls: new Map() }
    const request = { instruction: '', messages, tools: [], options: {}, step: '', idempotencyKey: '' }
    for await (const part of chat.stream(request, { signal })) addPart(answer, part)
    const toolCalls = [...answer.calls.values()]
    messages.push({ id: 'a', role: 'assistant', content: answer.text, toolCalls })
    if (toolCalls.length === 0) return answer.text
    const results = await Promise.all(
      toolCalls.map(async ({ arguments: json }) => {
        const { a, b } = JSON.parse(json)
        return String(a + b)
      }),
    )
    toolCalls.forEach(({ id, name }, i) => {
      messages.push({ id: 't', role: 'tool', callId: id, name, content: results[i] ?? '' })
    })
  }
}

/** An answer of a model, as far as it has arrived. */
interface Answer {
  text: string
  readonly calls: Map<string, { id: string; name: string; arguments: string }>
}

function addPart(answer: Answer, part: ModelPart): void {
  if (part.type === 'text-delta') answer.text += part.delta
  else if (part.type === 'tool-call-start')
    answer.calls.set(part.callId, { id: part.callId, name: part.name, arguments: '' })
  else if (part.type === 'tool-call-delta') {
    const open = answer.calls.get(part.callId)
    if (open) open.arguments += part.delta
  }
}

/** One model call as a stream of events, without a framework. */
async function* streamed(
  chat: ChatModel,
  history: readonly Message[],
): AsyncGenerator<{ type: string; delta?: string }> {
  yield { type: 'start' }
  const request = { instruction: '', messages: history, tools: [], options: {}, step: '', idempotencyKey: '' }
  let text = ''
  for await (const part of chat.stream(request, { signal: new AbortController().signal })) {
    if (part.type !== 'text-delta') continue
    text += part.delta
    yield { type: 'text-delta', delta: part.delta }
  }
  yield { type: 'end', delta: text }
}

const handler = (name: string): AgentHandler => ({
  name,
  beforeAgent: () => undefined,
  beforeModelRewriteHistory: () => undefined,
  afterModelRewriteHistory: () => undefined,
  wrapInvokableToolCall: (ctx, input, next) => next(ctx, input),
  wrapModelCall: (ctx, request, next) => next(ctx, request),
})
const five = Array.from({ length: 5 }, (_, i) => handler(`handler-${i}`))

function agentOf(chat: ChatModel, handlers: readonly AgentHandler[] = []): Agent {
  return chatModelAgent({ name: 'bench', model: chat, tools: [add], handlers, maxIterations: 100 })
}

/** A long history in which every second answer calls a tool. */
function historyWithCalls(length: number): readonly Message[] {
  const turns = Array.from({ length: length / 4 }, (_, i): Message[] => [
    { id: `u${i}`, role: 'user', content: 'Hm?' },
    { id: `a${i}`, role: 'assistant', content: '', toolCalls: [{ id: `call-${i}`, name: 'add', arguments: '{}' }] },
    { id: `t${i}`, role: 'tool', callId: `call-${i}`, name: 'add', content: '3' },
    { id: `b${i}`, role: 'assistant', content: 'Hm.' },
  ])
  return [...turns.flat(), question]
}

/** The ChatModel agent beside a hand-written loop, both on a model without latency. */
export function chatModelWorkloads(): readonly Workload[] {
  const input = { messages: [question] }
  const [short, long, steps, three, one] = [model(0, 1), model(0, DELTAS), model(STEPS, 1), model(3, 1), model(1, 1)]
  const withCalls = historyWithCalls(10_000)
  const history = (length: number): readonly Message[] => [
    ...Array.from({ length }, (_, i): Message => ({ id: `m${i}`, role: i % 2 ? 'assistant' : 'user', content: 'Hm.' })),
    question,
  ]
  const variants = [
    { suffix: '', handlers: [] },
    { suffix: ', five handlers', handlers: five },
  ]
  return variants.flatMap(({ suffix, handlers }): Workload[] => {
    const [shortAgent, longAgent, stepsAgent, threeAgent, oneAgent] = [short, long, steps, three, one].map((chat) =>
      agentOf(chat, handlers),
    ) as [Agent, Agent, Agent, Agent, Agent]
    return [
      {
        name: `one turn, awaited${suffix}`,
        unit: 'turn',
        units: 1,
        handWritten: () => expectText(5, loop(short, input.messages)),
        troupe: () => expectText(5, startRun(shortAgent, input)),
      },
      {
        name: `one turn, streamed${suffix}`,
        unit: 'turn',
        units: 1,
        handWritten: () => countDeltas(1, streamed(short, input.messages)),
        troupe: () => countDeltas(1, startRun(shortAgent, input)),
      },
      {
        name: `ten tool steps and an answer${suffix}`,
        unit: 'step',
        units: STEPS + 1,
        handWritten: () => expectText(5, loop(steps, input.messages)),
        troupe: () => expectText(5, startRun(stepsAgent, input)),
      },
      {
        name: `a streamed delta of 5,000${suffix}`,
        unit: 'delta',
        units: DELTAS,
        handWritten: () => countDeltas(DELTAS, streamed(long, input.messages)),
        troupe: () => countDeltas(DELTAS, startRun(longAgent, input)),
      },
      {
        name: `1,000 concurrent three-step runs${suffix}`,
        unit: 'run',
        units: 1_000,
        handWritten: () => Promise.all(Array.from({ length: 1_000 }, () => expectText(5, loop(three, input.messages)))),
        troupe: () => Promise.all(Array.from({ length: 1_000 }, () => expectText(5, startRun(threeAgent, input)))),
      },
      ...[1_000, 10_000].map((length): Workload => {
        const messages = history(length)
        return {
          name: `a turn on ${length.toLocaleString('en')} prior messages${suffix}`,
          unit: 'prior message',
          units: length,
          handWritten: () => expectText(5, loop(short, messages)),
          troupe: () => expectText(5, startRun(shortAgent, { messages })),
        }
      }),
      {
        name: `a tool step on 10,000 prior messages with calls${suffix}`,
        unit: 'prior message',
        units: 10_000,
        handWritten: () => expectText(5, loop(one, withCalls)),
        troupe: () => expectText(5, startRun(oneAgent, { messages: withCalls })),
      },
    ]
  })
}
