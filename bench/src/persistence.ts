import { chatModelAgent } from '@troupe/chat-model'
import { type Agent, type AgentEvent, type Message, say, stream, type ThreadRef, textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { startRun } from '@troupe/kernel/run'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { expectText } from './check-work.ts'
import type { Workload } from './measure.ts'

const DELTAS = 5_000
const question: Message = { id: 'u1', role: 'user', content: 'Go.' }
const input = { messages: [question] }
const usage = { inputTokens: 1, outputTokens: 1 }

const talker: Agent = chatModelAgent({
  name: 'bench',
  model: {
    name: 'bench',
    stream: () =>
      stream(async (sink) => {
        for (let i = 0; i < DELTAS; i++) {
          const wait = sink.write({ type: 'text-delta', delta: 'word ' })
          if (wait) await wait
        }
        await sink.write({ type: 'finish', reason: 'stop', usage })
      }),
  },
})

const greeter: Agent = { name: 'bench', description: 'Says a word.', run: (_input, ctx) => say(ctx, 'word ') }

/** What any consumer does: takes the deltas, and reads the message when it is whole. */
async function read(run: AsyncIterable<AgentEvent>): Promise<void> {
  let seen = 0
  for await (const event of run) {
    if (event.type === 'text-delta') seen++
    if (event.type === 'message-end') seen += textOf(event.message.content).endsWith('word ') ? 1 : 0
  }
  if (seen !== DELTAS + 1) throw new Error(`bench: expected ${DELTAS} deltas and the message, got ${seen}`)
}

/** The same runs with their records kept in memory and without; what is written is waited for. */
export function persistenceWorkloads(): readonly Workload[] {
  const store = memoryStore()
  const messages = messageLifecycle({ store, publish: () => undefined })
  const callbacks = [messages, toolLifecycle({ messages })]
  const session: ThreadRef = { app: 'bench', user: 'bench', threadId: 'bench' }
  const recorded = async (agent: Agent, work: (run: ReturnType<typeof startRun>) => Promise<unknown>) => {
    await store.threads.open(session)
    await work(startRun(agent, input, { session, callbacks }))
    await messages.flush(session)
    const [record] = await store.records.runs(session)
    if (record?.status !== 'complete') throw new Error(`bench: expected a complete record, got ${record?.status}`)
    await store.threads.delete(session)
  }
  return [
    {
      name: 'records of a streamed delta of 5,000',
      unit: 'delta',
      units: DELTAS,
      handWritten: () => read(startRun(talker, input)),
      troupe: () => recorded(talker, read),
    },
    {
      name: 'records of one short run',
      unit: 'run',
      units: 1,
      handWritten: () => expectText(5, startRun(greeter, input)),
      troupe: () => recorded(greeter, (run) => expectText(5, run)),
    },
  ]
}
