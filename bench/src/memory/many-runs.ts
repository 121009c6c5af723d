/** Runs one agent 100,000 times and prints how much the heap has grown; main.ts starts it with --expose-gc. */
import { getEventListeners } from 'node:events'
import { chatModelAgent } from '@troupe/chat-model'
import { type ChatModel, type ModelPart, stream } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'

const RUNS = 100_000
const model: ChatModel = {
  name: 'bench',
  stream: (_request, { signal }) =>
    stream<ModelPart>(async (sink) => {
      signal.throwIfAborted()
      await sink.write({ type: 'text-delta', delta: 'Hi' })
      await sink.write({ type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } })
    }),
}
const agent = chatModelAgent({ name: 'bench', model })
const { signal } = new AbortController()
const input = { messages: [{ id: 'u1', role: 'user', content: 'Go.' }] } as const

async function runs(count: number): Promise<number> {
  for (let i = 0; i < count; i++) await startRun(agent, input, { signal })
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

await runs(RUNS / 10)
const before = await runs(1)
const after = await runs(RUNS)
console.log(
  JSON.stringify({
    runs: RUNS,
    grownKb: Math.round((after - before) / 1024),
    listeners: getEventListeners(signal, 'abort').length,
  }),
)
