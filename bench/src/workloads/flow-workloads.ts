import { chatModelAgent } from '@troupe/chat-model'
import { agentWithOptions, runner, sequential, setSubAgents } from '@troupe/flow'
import { type Agent, type ChatModel, type Message, type ModelPart, type Store, stream } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { countDeltas, expectText } from '../check-work.ts'
import type { Workload } from '../measure.ts'

const CHAIN = 10
const DELTAS = 5_000
const PRIOR = 10_000
const usage = { inputTokens: 1, outputTokens: 1 }

/** A model without latency that always gives the same parts. */
function model(...parts: readonly ModelPart[]): ChatModel {
  return {
    name: 'bench',
    stream: () =>
      stream<ModelPart>(async (sink) => {
        for (const part of parts) {
          const wait = sink.write(part)
          if (wait) await wait
        }
      }),
  }
}

/** A model that transfers to an agent. */
function transferModel(agentName: string): ChatModel {
  const callId = 'c1'
  return model(
    { type: 'tool-call-start', callId, name: 'transfer_to_agent' },
    { type: 'tool-call-delta', callId, delta: JSON.stringify({ agent_name: agentName }) },
    { type: 'tool-call-end', callId },
    { type: 'finish', reason: 'tool-calls', usage },
  )
}

/** A model that answers with this number of deltas. */
function answeringModel(deltas: number): ChatModel {
  const words = Array.from({ length: deltas }, (): ModelPart => ({ type: 'text-delta', delta: 'word ' }))
  return model(...words, { type: 'finish', reason: 'stop', usage })
}

/** The loop that one would write without a framework: the agent that the model names continues, with the history as context. */
async function loop(
  models: Readonly<Record<string, ChatModel>>,
  first: string,
  history: readonly Message[],
): Promise<string> {
  const messages = history.slice()
  const { signal } = new AbortController()
  let agentName = first
  for (;;) {
    let text = ''
    let args = ''
    const request = { instruction: '', messages, tools: [], options: {}, step: '', idempotencyKey: '' }
    for await (const part of (models[agentName] as ChatModel).stream(request, { signal })) {
      if (part.type === 'text-delta') text += part.delta
      else if (part.type === 'tool-call-delta') args += part.delta
    }
    if (args === '') return text
    const said = `For context: [${agentName}] called tool: \`transfer_to_agent\` with arguments: ${args}.`
    messages.push({ id: 'a', role: 'user', content: said })
    messages.push({
      id: 't',
      role: 'user',
      content: `For context: [${agentName}] \`transfer_to_agent\` tool returned.`,
    })
    agentName = JSON.parse(args).agent_name
  }
}

async function* streamed(chat: ChatModel, history: readonly Message[]): AsyncGenerator<{ type: string }> {
  const request = { instruction: '', messages: history, tools: [], options: {}, step: '', idempotencyKey: '' }
  for await (const part of chat.stream(request, { signal: new AbortController().signal })) {
    if (part.type === 'text-delta') yield { type: 'text-delta' }
  }
}

const agentOf = (name: string, chat: ChatModel): Agent => chatModelAgent({ name, model: chat })
const question: Message = { id: 'u1', role: 'user', content: 'Go.' }

function chainOf(length: number): { readonly agent: Agent; readonly models: Record<string, ChatModel> } {
  const models: Record<string, ChatModel> = { [`a${length}`]: answeringModel(1) }
  let agent = agentOf(`a${length}`, models[`a${length}`] as ChatModel)
  for (let i = length - 1; i >= 0; i--) {
    const chat = transferModel(`a${i + 1}`)
    models[`a${i}`] = chat
    agent = setSubAgents(agentOf(`a${i}`, chat), [agentWithOptions(agent, { disallowTransferToParent: true })])
  }
  return { agent, models }
}

/** The history of a thread with two agents. */
function longThread(): readonly Message[] {
  return Array.from({ length: PRIOR }, (_, i): Message => {
    const content = `Message ${i}.`
    return i % 2
      ? { id: `m${i}`, role: 'assistant', content, agentName: i % 4 === 1 ? 'a0' : 'a1' }
      : { id: `m${i}`, role: 'user', content }
  })
}

const LONG = { app: 'bench', user: 'bench', threadId: 'long' }

/** A store with one long thread that does not grow. */
async function longStore(messages: readonly Message[]): Promise<Pick<Store, 'threads' | 'leases'>> {
  const { threads, leases } = memoryStore()
  await threads.open(LONG)
  const { token } = await leases.acquire(LONG, { runId: 'seed', ttlMs: 1_000 })
  const grown = await threads.commit(LONG, { messages: messages.map((message) => ({ runId: 'seed', message })) }, token)
  await leases.release(LONG, token)
  return { threads: { ...threads, commit: async () => grown }, leases }
}

/** Flow beside a hand-written loop, both on models without latency. */
export async function flowWorkloads(): Promise<readonly Workload[]> {
  const [one, ten] = [chainOf(1), chainOf(CHAIN)]
  const [oneRunner, tenRunner] = [runner({ agent: one.agent }), runner({ agent: ten.agent })]
  const words = answeringModel(DELTAS)
  let deep = agentOf('leaf', words)
  for (let i = 0; i < 5; i++) deep = sequential({ name: `flow-${i}`, agents: [deep] })
  const deepRunner = runner({ agent: deep })
  const flatRunner = runner({ agent: agentOf('leaf', words) })
  const store = memoryStore()
  // What it costs to store each step is in the table of durability.
  const threadRunner = runner({ agent: one.agent, store, durability: 'turn' })
  const prior = longThread()
  const longRunner = runner({ agent: one.agent, store: await longStore(prior), durability: 'turn' })
  let thread = 0
  return [
    {
      name: 'a transfer, router to specialist',
      unit: 'run',
      units: 1,
      handWritten: () => expectText(5, loop(one.models, 'a0', [question])),
      troupe: () => expectText(5, oneRunner.query('Go.')),
    },
    {
      name: 'a transfer, router to specialist, on a thread in memory',
      unit: 'run',
      units: 1,
      handWritten: () => expectText(5, loop(one.models, 'a0', [question])),
      async troupe() {
        const session = { app: 'bench', user: 'bench', threadId: `${thread++}` }
        await expectText(5, threadRunner.query('Go.', { session }))
        await store.threads.delete(session)
      },
    },
    {
      name: 'a chain of ten transfers',
      unit: 'transfer',
      units: CHAIN,
      handWritten: () => expectText(5, loop(ten.models, 'a0', [question])),
      troupe: () => expectText(5, tenRunner.query('Go.')),
    },
    {
      name: 'a delta through one flow',
      unit: 'delta',
      units: DELTAS,
      handWritten: () => countDeltas(DELTAS, streamed(words, [question])),
      troupe: () => countDeltas(DELTAS, flatRunner.query('Go.')),
    },
    {
      name: 'a delta through five nested flows more',
      unit: 'delta',
      units: DELTAS,
      handWritten: () => countDeltas(DELTAS, streamed(words, [question])),
      troupe: () => countDeltas(DELTAS, deepRunner.query('Go.')),
    },
    {
      name: 'a transfer on a thread of 10,000 messages',
      unit: 'prior message',
      units: PRIOR,
      handWritten: () => expectText(5, loop(one.models, 'a0', [...prior, question])),
      troupe: () => expectText(5, longRunner.query('Go.', { session: LONG })),
    },
    {
      name: 'a transfer on 10,000 prior messages',
      unit: 'prior message',
      units: PRIOR,
      handWritten: () => expectText(5, loop(one.models, 'a0', [...prior, question])),
      troupe: () => expectText(5, oneRunner.run({ messages: [...prior, question] })),
    },
  ]
}
