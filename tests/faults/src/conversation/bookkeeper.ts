import { chatModelAgent } from '@troupe/chat-model'
import { agentTool } from '@troupe/flow'
import { type Agent, type ChatModel, defineTool, type Message, type Tool, textOf } from '@troupe/kernel'
import { seeded } from '../random.ts'
import type { Effects } from './effects.ts'

/** The requests of a user: tools by name, with `|` between two turns. */
const SCRIPTS: readonly string[] = [
  'talk',
  'look look pay',
  'clerk look',
  'wire pay',
  'pay | look pay',
  'order',
  'clerk | wire',
]

/** The requests of a conversation, in an order that depends on the seed. */
export function scriptsFor(seed: number): readonly string[] {
  return seeded(seed)
    .shuffled(SCRIPTS)
    .map((script, i) => `${i + 1}: ${script}`)
}

const NAMES: readonly string[] = ['look', 'pay', 'wire', 'clerk', 'order']
/** The request that the agent behind the tool `clerk` gets. */
const INNER = 'look | pay'

/**
 * An agent that calls the tools which the user names: it talks, looks, pays (once), wires (once, after approval), asks a clerk, and
 * orders something that is delivered later.
 */
export function bookkeeper(effects: Effects): Agent {
  const inner = chatModelAgent({
    name: 'clerk',
    description: 'Helps.',
    model: scripted,
    tools: [look, payTool(effects)],
  })
  const tools = [look, payTool(effects), wireTool(effects), agentTool(inner), order]
  return chatModelAgent({ name: 'bookkeeper', model: scripted, tools, retry: false })
}

/** A model that answers the same in every process, because it depends on its messages alone. */
const scripted: ChatModel = {
  name: 'scripted',
  async *stream({ messages, idempotencyKey }, { signal }) {
    const asked = messages.findLastIndex(({ role }) => role === 'user')
    const script = textOf(messages[asked]?.content ?? '')
    const since = messages.slice(asked + 1)
    const turn = turnsOf(script)[since.filter(makesCalls).length]
    for (const word of turn ? ['One', ' moment.'] : wordsOf(script, messages, since)) {
      await pause()
      signal.throwIfAborted()
      yield { type: 'text-delta', delta: word }
    }
    for (const [i, name] of (turn ?? []).entries()) {
      const callId = `${idempotencyKey}/${i}`
      yield { type: 'tool-call-start', callId, name }
      yield { type: 'tool-call-delta', callId, delta: JSON.stringify(name === 'clerk' ? { request: INNER } : { n: i }) }
      yield { type: 'tool-call-end', callId }
    }
    await pause()
    yield { type: 'finish', reason: turn ? 'tool-calls' : 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
  },
}

/** The answer says how much of the thread the model has seen. */
function wordsOf(script: string, messages: readonly Message[], since: readonly Message[]): readonly string[] {
  const results = since.flatMap(({ role, content }) => (role === 'tool' ? [textOf(content)] : []))
  return `Done ${script}: ${results.join(', ')}; heard ${userMessagesIn(messages)}`.split(/(?= )/)
}

/** Counts the user messages. */
export function userMessagesIn(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === 'user').length
}

function turnsOf(script: string): readonly (readonly string[])[] {
  const turns = script.split('|').map((turn) => turn.split(/[ :]+/).filter((word) => NAMES.includes(word)))
  return turns.filter(({ length }) => length > 0)
}

function makesCalls(message: Message): boolean {
  return message.role === 'assistant' && (message.toolCalls?.length ?? 0) > 0
}

const PARAMETERS = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  parameters: PARAMETERS,
  effect: 'pure',
  async invoke({ n }) {
    await pause()
    return `saw ${n}`
  },
})

const payTool = (effects: Effects): Tool<{ n: number }> =>
  defineTool({ name: 'pay', description: 'Pays.', parameters: PARAMETERS, effect: 'once', invoke: payWith(effects) })

const wireTool = (effects: Effects): Tool<{ n: number }> =>
  defineTool({
    name: 'wire',
    description: 'Pays a lot.',
    parameters: PARAMETERS,
    effect: 'once',
    needsApproval: () => true,
    invoke: payWith(effects),
  })

const order = defineTool({ name: 'order', description: 'Orders.', parameters: PARAMETERS, longRunning: true })

function payWith(effects: Effects): NonNullable<Tool<{ n: number }>['invoke']> {
  return async ({ n }, _ctx, { idempotencyKey: key, callId }) => {
    await pause()
    effects.add({ key, callId })
    await pause()
    return `paid ${n}`
  }
}

/** Waits long enough for a signal from outside to arrive in between. */
function pause(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 1))
}
