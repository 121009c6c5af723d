import { chatModelAgent } from '@troupe/chat-model'
import { agentTool } from '@troupe/flow'
import {
  type Agent,
  type AgentHandler,
  type ChatModel,
  defineTool,
  type Message,
  type Tool,
  textOf,
} from '@troupe/kernel'
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
export function bookkeeper(effects: Pick<Effects, 'add'>, pauseMs = 1, handlers: readonly AgentHandler[] = []): Agent {
  const pause = pauseOf(pauseMs)
  const model = scripted(pause)
  const [look, pay] = [lookTool(pause), payTool(effects, pause)]
  const inner = chatModelAgent({ name: 'clerk', description: 'Helps.', model, tools: [look, pay], handlers })
  const tools = [look, pay, wireTool(effects, pause), agentTool(inner), order]
  return chatModelAgent({ name: 'bookkeeper', model, tools, handlers, retry: false })
}

/** A wait in which a signal from outside can arrive. */
type Pause = () => Promise<void>

function pauseOf(ms: number): Pause {
  return () => new Promise((resolve) => void setTimeout(resolve, ms))
}

/** A model that answers the same in every process, because it depends on its messages alone. */
const scripted = (pause: Pause): ChatModel => ({
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
})

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

const lookTool = (pause: Pause): Tool<{ n: number }> =>
  defineTool({
    name: 'look',
    description: 'Looks.',
    parameters: PARAMETERS,
    effect: 'pure',
    async invoke({ n }) {
      await pause()
      return `saw ${n}`
    },
  })

type Once = NonNullable<Tool<{ n: number }>['invoke']>

const payTool = (effects: Pick<Effects, 'add'>, pause: Pause): Tool<{ n: number }> => {
  const invoke = payWith(effects, pause)
  return defineTool({ name: 'pay', description: 'Pays.', parameters: PARAMETERS, effect: 'once', invoke })
}

const wireTool = (effects: Pick<Effects, 'add'>, pause: Pause): Tool<{ n: number }> =>
  defineTool({
    name: 'wire',
    description: 'Pays a lot.',
    parameters: PARAMETERS,
    effect: 'once',
    needsApproval: () => true,
    invoke: payWith(effects, pause),
  })

const order = defineTool({ name: 'order', description: 'Orders.', parameters: PARAMETERS, longRunning: true })

function payWith(effects: Pick<Effects, 'add'>, pause: Pause): Once {
  return async ({ n }, ctx, { idempotencyKey: key, callId }) => {
    const began = performance.timeOrigin + performance.now()
    await pause()
    effects.add({ key, callId, runId: ctx.runId.split('/')[0] ?? '', began, pid: process.pid })
    await pause()
    return `paid ${n}`
  }
}
