import { setTimeout as pause } from 'node:timers/promises'
import { chatModelAgent } from '@troupe/chat-model'
import { agentWithOptions, setSubAgents } from '@troupe/flow'
import { type Agent, type ChatModel, defineTool, type Message, textOf } from '@troupe/kernel'

/** What a user message asks for; `id` comes back in the answer. */
export interface Wish {
  readonly id: string
  /** Called one after the other. */
  readonly tools?: readonly string[]
  /** Whether a colleague answers. */
  readonly transfer?: boolean
  /** Words before the answer, a moment after each other. */
  readonly words?: number
  /** How long the model says nothing first. */
  readonly silentMs?: number
}

const PARAMETERS = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const

/** A desk that does what it is asked for, with a colleague. `paid` is told each payment. */
export function desk(paid: () => void): Agent {
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
        paid()
        return 'paid'
      },
    }),
  ]
  const clerk = chatModelAgent({ name: 'Clerk', description: 'Helps.', model, tools })
  return setSubAgents(chatModelAgent({ name: 'Desk', model, tools }), [
    agentWithOptions(clerk, { disallowTransferToParent: true }),
  ])
}

/** Goes by what it is shown alone. */
const model: ChatModel = {
  name: 'obedient',
  async *stream({ messages, tools, idempotencyKey: callId }, { signal }) {
    const asked = messages.findLastIndex(isWish)
    const { id, tools: wanted = [], transfer, words = 0, silentMs } = JSON.parse(contentOf(messages[asked])) as Wish
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

/** What a colleague has said is shown as words of a user too. */
function isWish(message: Message): boolean {
  return message.role === 'user' && contentOf(message).startsWith('{')
}

function contentOf(message: Message | undefined): string {
  return textOf(message?.content ?? '')
}
