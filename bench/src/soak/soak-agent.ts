import { setTimeout as pause } from 'node:timers/promises'
import { chatModelAgent } from '@troupe/chat-model'
import { agentWithOptions, setSubAgents } from '@troupe/flow'
import { type Agent, type ChatModel, defineTool, type Message, textOf } from '@troupe/kernel'

/** The task in a user message; its `id` is repeated in the answer. */
export interface SoakTask {
  readonly id: string
  /** The tools to call, one after the other. */
  readonly tools?: readonly string[]
  /** Whether another agent answers. */
  readonly transfer?: boolean
  /** The number of words before the answer, a millisecond apart. */
  readonly words?: number
  /** How long the model is silent first. */
  readonly silentMs?: number
}

const PARAMETERS = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const

/** An agent that does the tasks of users, with a second agent to transfer to. `onPayment` is called for each payment. */
export function soakAgent(onPayment: () => void): Agent {
  const tools = [
    defineTool({ name: 'look', description: 'Looks.', parameters: PARAMETERS, invoke: ({ n }) => `saw ${n}` }),
    defineTool({
      name: 'break',
      description: 'Breaks.',
      parameters: PARAMETERS,
      invoke() {
        throw new Error('broken')
      },
    }),
    defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: PARAMETERS,
      needsApproval: () => true,
      invoke() {
        onPayment()
        return 'paid'
      },
    }),
  ]
  const clerk = chatModelAgent({ name: 'Clerk', description: 'Helps.', model, tools })
  return setSubAgents(chatModelAgent({ name: 'Desk', model, tools }), [
    agentWithOptions(clerk, { disallowTransferToParent: true }),
  ])
}

/** A model that depends on its messages alone. */
const model: ChatModel = {
  name: 'soak',
  async *stream({ messages, tools, idempotencyKey: callId }, { signal }) {
    const asked = messages.findLastIndex(isTask)
    const { id, tools: wanted = [], transfer, words = 0, silentMs } = JSON.parse(contentOf(messages[asked])) as SoakTask
    const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool')
    const canTransfer = tools.some(({ name }) => name === 'transfer_to_agent')
    const call = transfer && canTransfer ? 'transfer_to_agent' : wanted[results.length]
    if (silentMs !== undefined) await pause(silentMs, undefined, { signal })
    for (let i = 0; i < words; i++) {
      await pause(1, undefined, { signal })
      yield { type: 'text-delta', delta: `word${i} ` }
    }
    if (call) {
      const args = call === 'transfer_to_agent' ? { agent_name: 'Clerk' } : { n: results.length }
      yield { type: 'tool-call-start', callId, name: call }
      yield { type: 'tool-call-delta', callId, delta: JSON.stringify(args) }
      yield { type: 'tool-call-end', callId }
    } else {
      yield { type: 'text-delta', delta: `Done ${id}: ` }
      yield { type: 'text-delta', delta: `${results.length} results.` }
    }
    yield { type: 'finish', reason: call ? 'tool-calls' : 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
  },
}

/** The messages of another agent have the role `user` too, but they are not JSON. */
function isTask(message: Message): boolean {
  return message.role === 'user' && contentOf(message).startsWith('{')
}

function contentOf(message: Message | undefined): string {
  return textOf(message?.content ?? '')
}
