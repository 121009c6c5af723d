import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, parallel, sequential } from '@troupe/flow'
import {
  type Agent,
  type AgentHandler,
  type ChatModel,
  defineTool,
  type Json,
  type RunContext,
  type Tool,
} from '@troupe/kernel'

/** A question of a program. */
export interface Ask {
  readonly text: number
  readonly key: string | undefined
  /** How often it is asked in a row. */
  readonly times: number
}

export const HOOKS = ['beforeAgent', 'before', 'ahead', 'behind', 'after', 'tool', 'afterAgent'] as const
export type Hook = (typeof HOOKS)[number]

export interface HandlerSpec {
  readonly hook: Hook
  readonly ask: Ask
}

export interface AgentSpec {
  /** The tools that each turn calls. */
  readonly turns: readonly (readonly string[])[]
  readonly handlers: readonly HandlerSpec[]
  /** What each tool asks; the third one runs an agent. */
  readonly tools: readonly (Ask & { readonly approval: boolean })[]
}

/** A random program of hooks, tools and branches that ask. */
export interface Program {
  readonly shape: 'one' | 'sequence' | 'parallel'
  readonly agents: readonly AgentSpec[]
  readonly inner: AgentSpec
}

/** How the code of a process differs from the one that asked. */
export interface Deploy {
  /** Handlers are sorted by these numbers. */
  readonly order: readonly number[]
  readonly removed: readonly number[]
  readonly silent: readonly number[]
  /** Whether a handler was added in front that asks too. */
  readonly added: boolean
  readonly silentTools: boolean
}

/** What all processes of a case have seen. */
export class Ledger {
  readonly violations: string[] = []
  readonly #sites: string[] = []
  readonly #accepted: Set<number> = new Set()
  readonly #paid: Map<string, number> = new Map()

  /** The number of a question, which it shows as the time at which it expires: that is no part of its identity. */
  site(name: string): number {
    const known = this.#sites.indexOf(name)
    return known >= 0 ? known : this.#sites.push(name) - 1
  }

  nameOf(site: number): string | undefined {
    return this.#sites[site]
  }

  received(site: number, answer: Json): void {
    const { site: given } = answer as { readonly site: number }
    if (given !== site) this.violations.push(`the answer for ${this.nameOf(given)} reached ${this.nameOf(site)}`)
  }

  shown(sites: readonly number[]): void {
    for (const site of sites) {
      if (this.#accepted.has(site)) this.violations.push(`${this.nameOf(site)} is asked for again`)
    }
    if (new Set(sites).size < sites.length) this.violations.push(`a question is shown twice: ${sites.join()}`)
  }

  accept(site: number): void {
    this.#accepted.add(site)
  }

  /** Notes a whole answer of the model. */
  pay(step: string): void {
    const times = (this.#paid.get(step) ?? 0) + 1
    this.#paid.set(step, times)
    if (times > 1) this.violations.push(`model call ${step} was paid ${times} times`)
  }
}

/** Makes the agent of a program as one process has it. */
export function programAgent({ shape, agents, inner }: Program, deploy: Deploy, ledger: Ledger): Agent {
  const made = agents.map((spec, i) => new AskingAgent(`agent${i}`, spec, deploy, ledger, inner).agent)
  if (shape === 'one') return made[0] as Agent
  return shape === 'sequence' ? sequential({ name: 'steps', agents: made }) : parallel({ name: 'all', agents: made })
}

class AskingAgent {
  readonly #name: string
  readonly #spec: AgentSpec
  readonly #deploy: Deploy
  readonly #ledger: Ledger
  readonly agent: Agent

  constructor(name: string, spec: AgentSpec, deploy: Deploy, ledger: Ledger, inner?: AgentSpec) {
    this.#name = name
    this.#spec = spec
    this.#deploy = deploy
    this.#ledger = ledger
    const nested = inner && agentTool(new AskingAgent('inner', inner, deploy, ledger).agent, { name: 'tool2' })
    const tools = [...spec.tools.map((tool, i) => this.#tool(`tool${i}`, tool)), ...(nested ? [nested] : [])]
    this.agent = chatModelAgent({ name, model: this.#model(), tools, handlers: this.#handlers(), maxIterations: 50 })
  }

  #model(): ChatModel {
    const [name, { turns }, ledger] = [this.#name, this.#spec, this.#ledger]
    return {
      name: 'model',
      async *stream({ messages, step }) {
        const said = messages.filter((message) => message.role === 'assistant' && message.agentName === name).length
        const calls = turns[said] ?? []
        const start = messages[0]?.id ?? ''
        for (const [i, call] of calls.entries()) {
          const callId = `${start}/${name}:${said}:${i}`
          yield { type: 'tool-call-start', callId, name: call }
          yield { type: 'tool-call-delta', callId, delta: call === 'tool2' ? '{"request":"go"}' : '{}' }
          yield { type: 'tool-call-end', callId }
        }
        if (calls.length === 0) yield { type: 'text-delta', delta: `${name} is done` }
        ledger.pay(`${start} ${name} ${step}`)
        yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
      },
    }
  }

  #handlers(): AgentHandler[] {
    const { order, removed, silent, added } = this.#deploy
    const made = this.#spec.handlers.map((spec, i) => ({
      at: order[i] ?? i,
      gone: removed.includes(i),
      handler: this.#handler(`handler${i}`, spec, silent.includes(i)),
    }))
    const kept = made.filter(({ gone }) => !gone).toSorted((a, b) => a.at - b.at)
    const first = this.#spec.handlers[0]
    const extra = added && first ? [this.#handler('extra', { ...first, hook: 'before' }, false)] : []
    return [...extra, ...kept.map(({ handler }) => handler)]
  }

  #handler(name: string, { hook, ask }: HandlerSpec, silent: boolean): AgentHandler {
    const asks = (ctx: RunContext, place: string) => (silent ? undefined : this.#ask(ctx, `${name} ${place}`, ask))
    const turn = (messages: readonly { readonly role: string }[]) =>
      messages.filter(({ role }) => role === 'assistant').length
    const hooks: { readonly [hook in Hook]: Omit<AgentHandler, 'name'> } = {
      beforeAgent: { beforeAgent: (ctx) => asks(ctx, 'beforeAgent') },
      before: { beforeModelRewriteHistory: (ctx, messages) => asks(ctx, `before ${turn(messages)}`) },
      ahead: {
        async *wrapModelCall(ctx, request, next) {
          await asks(ctx, `ahead ${request.step}`)
          yield* next(ctx, request)
        },
      },
      behind: {
        async *wrapModelCall(ctx, request, next) {
          const parts = []
          for await (const part of next(ctx, request)) parts.push(part)
          await asks(ctx, `behind ${request.step}`)
          yield* parts
        },
      },
      after: { afterModelRewriteHistory: (ctx, messages) => asks(ctx, `after ${turn(messages)}`) },
      tool: {
        async wrapInvokableToolCall(ctx, input, next) {
          await asks(ctx, `tool ${input.callId}`)
          return next(ctx, input)
        },
      },
      afterAgent: {
        afterAgent: (ctx, { outcome }) => (outcome === 'complete' ? asks(ctx, 'afterAgent') : undefined),
      },
    }
    return { name, ...hooks[hook] }
  }

  #tool(name: string, { approval, ...ask }: Ask & { readonly approval: boolean }): Tool {
    return defineTool({
      name,
      description: name,
      parameters: { type: 'object' },
      ...(approval && { needsApproval: () => true }),
      invoke: async (_, ctx, { callId }) => {
        if (!this.#deploy.silentTools) await this.#ask(ctx, `call ${callId}`, ask)
        return `${name} done`
      },
    }) as Tool
  }

  async #ask(ctx: RunContext, place: string, { text, key, times }: Ask): Promise<void> {
    for (let i = 0; i < times; i++) {
      const site = this.#ledger.site(`${ctx.origin} ${this.#name} ${place} "${text}" ${key} ${i}`)
      const request = { reason: 'input', message: `Question ${text}`, ...(key !== undefined && { key }) }
      this.#ledger.received(site, await ctx.interrupt({ ...request, expiresAt: EXPIRES + site }))
    }
  }
}

/** The time at which the first question expires. */
export const EXPIRES = 9_000_000_000_000
