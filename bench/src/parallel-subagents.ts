/** Runs one and a hundred sub-agents in one parent, on a model that takes 20 ms, and tells the time and what stays in memory; started with --expose-gc by main.ts. */
import { getEventListeners } from 'node:events'
import { chatModelAgent } from '@troupe/chat-model'
import { type ChatModel, type ModelPart, stream } from '@troupe/kernel'
import { pipe } from '@troupe/kernel/kit'
import { startRun } from '@troupe/kernel/run'
import { AgentRegistry } from '@troupe/subagent'
import { finder, handsIn } from './subagent.ts'

const CHILDREN = 100
const LATENCY_MS = 20
const ROUNDS = 9

const fast = handsIn()
const slow: ChatModel = {
  name: 'slow',
  stream: (request, options) =>
    stream<ModelPart>(async (sink) => {
      await new Promise((resolve) => setTimeout(resolve, LATENCY_MS))
      await pipe(fast.stream(request, options), sink)
    }),
}

/** A model that calls the agent so many times, and then is done. */
function calls(count: number): ChatModel {
  return {
    name: 'lead',
    stream: ({ messages }) =>
      stream<ModelPart>(async (sink) => {
        const first = messages.length === 1
        for (let i = 0; first && i < count; i++) {
          const callId = `f${i}`
          await sink.write({ type: 'tool-call-start', callId, name: 'finder' })
          await sink.write({ type: 'tool-call-delta', callId, delta: '{"task":"Go."}' })
          await sink.write({ type: 'tool-call-end', callId })
        }
        if (!first) await sink.write({ type: 'text-delta', delta: 'Done.' })
        const reason = first ? 'tool-calls' : 'stop'
        await sink.write({ type: 'finish', reason, usage: { inputTokens: 1, outputTokens: 1 } })
      }),
  }
}

const { signal } = new AbortController()
const input = { messages: [{ id: 'u1', role: 'user', content: 'Go.' }] } as const

function leadOf(count: number, model: ChatModel) {
  const registry = new AgentRegistry({ factory: chatModelAgent, model })
  registry.registerAgent(finder)
  const lead = chatModelAgent({ name: 'lead', model: calls(count), tools: registry.tools(), toolConcurrency: CHILDREN })
  return async () => {
    let done = 0
    for await (const event of startRun(lead, input, { signal })) {
      if (event.type === 'tool-end' && event.name === 'finder' && event.status === 'complete') done++
    }
    if (done !== count) throw new Error(`bench: expected ${count} results, got ${done}`)
  }
}

async function wallOf(run: () => Promise<void>): Promise<number> {
  for (let i = 0; i < ROUNDS; i++) await run()
  const walls: number[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const start = performance.now()
    await run()
    walls.push(performance.now() - start)
  }
  return walls.sort((a, b) => a - b)[ROUNDS >> 1] as number
}

const oneMs = await wallOf(leadOf(1, slow))
const allMs = await wallOf(leadOf(CHILDREN, slow))

const many = leadOf(CHILDREN, fast)
const heapAfter = async (runs: number) => {
  for (let i = 0; i < runs; i++) await many()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
await heapAfter(20)
const before = await heapAfter(1)
const after = await heapAfter(100)
console.log(
  JSON.stringify({
    children: CHILDREN,
    oneMs: Math.round(oneMs),
    allMs: Math.round(allMs),
    ratio: Number((allMs / oneMs).toFixed(2)),
    grownKb: Math.round((after - before) / 1024),
    listeners: getEventListeners(signal, 'abort').length,
  }),
)
