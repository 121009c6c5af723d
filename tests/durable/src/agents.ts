import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, parallel } from '@troupe/flow'
import { type Agent, type ChatModel, defineTool, type Message, type ModelPart, textOf } from '@troupe/kernel'
import { sleep, systemClock } from '@troupe/kernel/kit'
import type { Effects } from './effects.ts'

/** What a user asks for: so many turns with so many calls each, and how long a word and a call take. */
export type Plan = {
  readonly turns: number
  readonly calls?: readonly string[]
  readonly wordMs?: number
  readonly callMs?: number
}

const WORDS = 4
const NO_ARGUMENTS = { type: 'object' } as const

/** The agents of the tests, by the names under which the workers have them. */
export function agentsOf(effects: Effects): { readonly [name: string]: Agent } {
  const tool = (name: string, effect: 'once' | 'idempotent', needsApproval = false) =>
    defineTool({
      name,
      description: 'Does something.',
      parameters: NO_ARGUMENTS,
      effect,
      ...(needsApproval && { needsApproval: () => true }),
      async invoke(_, ctx, { idempotencyKey: key }) {
        effects.note({ what: 'began', key, name })
        await sleep(ctx.clock, planOf(ctx.state.get('plan')).callMs ?? 0, ctx.signal)
        effects.note({ what: 'ended', key, name })
        ctx.state.set(`did:${name}`, key)
        return `${name} done`
      },
    })
  const tools = [tool('send', 'once'), tool('look', 'idempotent'), tool('pay', 'once', true)]
  const model = wordyModel(effects)
  const assistant = chatModelAgent({ name: 'assistant', model, tools, maxIterations: 100 })
  const helper = chatModelAgent({ name: 'helper', description: 'Helps.', model, tools, maxIterations: 100 })
  const desk = chatModelAgent({ name: 'desk', model, tools: [...tools, agentTool(helper)], maxIterations: 100 })
  const branch = (n: number) => chatModelAgent({ name: `branch${n}`, model, tools, maxIterations: 100 })
  const team = parallel({ name: 'team', agents: [1, 2, 3, 4].map(branch) })
  return { assistant, desk, team }
}

/** A model that does what the plan says: some words, then the calls of a turn; each word has the number of the process that says it. */
function wordyModel(effects: Effects): ChatModel {
  return {
    name: 'wordy',
    async *stream({ messages, idempotencyKey: key }, { signal }) {
      effects.note({ what: 'began', key, name: 'model' })
      const plan = planIn(messages)
      const turn = turnIn(messages)
      for (let i = 0; i < WORDS; i++) {
        await sleep(systemClock, plan.wordMs ?? 0, signal)
        yield { type: 'text-delta', delta: `w${turn}.${i}.${process.pid} ` }
      }
      const calls = turn < plan.turns ? (plan.calls ?? ['send']) : []
      yield* calls.flatMap((name, i) => callOf(name, `${turn}-${i}`))
      effects.note({ what: 'ended', key, name: 'model' })
      const usage = { inputTokens: 1, outputTokens: WORDS }
      yield { type: 'finish', reason: calls.length > 0 ? 'tool-calls' : 'stop', usage }
    },
  }
}

function callOf(name: string, callId: string): readonly ModelPart[] {
  const args = name === 'helper' ? { request: JSON.stringify({ turns: 2, calls: ['send', 'look'] }) } : {}
  return [
    { type: 'tool-call-start', callId, name },
    { type: 'tool-call-delta', callId, delta: JSON.stringify(args) },
    { type: 'tool-call-end', callId },
  ]
}

function planIn(messages: readonly Message[]): Plan {
  const asked = messages.findLast(({ role }) => role === 'user')
  return planOf(asked && textOf(asked.content))
}

function planOf(text: unknown): Plan {
  try {
    return JSON.parse(String(text)) as Plan
  } catch {
    return { turns: 0 }
  }
}

/** How many answers followed the last question. */
function turnIn(messages: readonly Message[]): number {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  return messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length
}
