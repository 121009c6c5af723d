import {
  type AgentConfig,
  type AgentHandler,
  type HistoryRewrite,
  KernelError,
  type Message,
  type RunContext,
  type RunResult,
} from '@troupe/kernel'
import { type HookName, hookOf, isPromise } from '@troupe/kernel/kit'
import { askingContext } from '@troupe/kernel/run'
import { checkTools } from '../tools/toolbox.ts'
import { callHook, invalidReturn } from './call-hook.ts'

/** A history and the context that goes with it. */
interface Rewritten {
  readonly ctx: RunContext
  readonly messages: readonly Message[]
}

/** A hook with its handler, and the name under which it asks. */
type Named<H extends HookName> = {
  readonly name: string
  readonly asker: string
  /** The names under which it asks in the first turns, as far as they were needed. */
  readonly inTurn: string[]
  readonly hook: NonNullable<AgentHandler[H]>
}
type RewriteHook = 'beforeModelRewriteHistory' | 'afterModelRewriteHistory'

/** The hooks of an agent's handlers, in order; an absent hook costs nothing. */
export class HandlerChain {
  /** Whether any handler has `beforeAgent` or `afterAgent`. */
  readonly hasAgentHooks: boolean
  readonly #agentHooks: readonly { before: Named<'beforeAgent'> | undefined; after: Named<'afterAgent'> | undefined }[]
  readonly #rewrites: Record<RewriteHook, readonly Named<RewriteHook>[]>

  constructor(handlers: readonly AgentHandler[]) {
    this.#agentHooks = handlers.map((handler) => ({
      before: named(handler, 'beforeAgent'),
      after: named(handler, 'afterAgent'),
    }))
    this.hasAgentHooks = this.#agentHooks.some(({ before, after }) => before ?? after)
    this.#rewrites = {
      beforeModelRewriteHistory: handlers.flatMap((handler) => named(handler, 'beforeModelRewriteHistory') ?? []),
      afterModelRewriteHistory: handlers.flatMap((handler) => named(handler, 'afterModelRewriteHistory') ?? []),
    }
  }

  /** Contract: runs forward; before each handler, `reached` gets the number of handlers so far and their context; only those get `afterAgent`. */
  async beforeAgent(
    ctx: RunContext,
    config: AgentConfig,
    reached: (handlers: number, ctx: RunContext) => void,
  ): Promise<RunContext> {
    let current = ctx
    for (const [index, { before }] of this.#agentHooks.entries()) {
      reached(index + 1, current)
      if (!before) continue
      const asking = askingContext(current, before.asker)
      const returned = await callHook(current, before.name, 'beforeAgent', () => before.hook(asking, config))
      if (returned !== undefined) current = checkContext(before.name, 'beforeAgent', returned)
      checkConfig(before.name, config)
    }
    return current
  }

  /** Contract: runs the hook of every handler that was reached, then throws the first error. */
  async afterAgent(ctx: RunContext, result: RunResult, reached: number): Promise<void> {
    let failed: { readonly error: unknown } | undefined
    for (const { after } of this.#agentHooks.slice(0, reached)) {
      try {
        const asking = after && askingContext(ctx, after.asker)
        if (asking) await callHook(ctx, after.name, 'afterAgent', () => after.hook(asking, result))
      } catch (error) {
        failed ??= { error }
      }
    }
    if (failed) throw failed.error
  }

  /** Whether any handler may change the history. */
  get rewritesAny(): boolean {
    return this.rewrites('beforeModelRewriteHistory') || this.rewrites('afterModelRewriteHistory')
  }

  /** Whether any handler has this hook. */
  rewrites(hook: RewriteHook): boolean {
    return this.#rewrites[hook].length > 0
  }

  /** Contract: runs forward; each hook gets the history of the one before; a hook that returns no promise is not awaited. */
  async rewrite(hook: RewriteHook, start: Rewritten, turn: number): Promise<Rewritten> {
    let current = start
    for (const named of this.#rewrites[hook]) {
      const { name, hook: rewrite } = named
      const asking = askingContext(current.ctx, askerIn(turn, named))
      let returned = callHook(current.ctx, name, hook, () => rewrite(asking, current.messages))
      if (isPromise(returned)) returned = await returned
      current = rewritten(name, hook, returned, current)
    }
    return current
  }
}

function named<H extends HookName>(handler: AgentHandler, hook: H): Named<H> | undefined {
  const found = hookOf(handler, hook)
  return found && { name: handler.name, asker: `${handler.name}/${hook}`, inTurn: [], hook: found }
}

/** The name under which a hook asks in a turn. Contract: made once for the turns of most runs. */
function askerIn(turn: number, { asker, inTurn }: Pick<Named<RewriteHook>, 'asker' | 'inTurn'>): string {
  if (turn >= 32) return `${asker}/${turn}`
  inTurn[turn] ??= `${asker}/${turn}`
  return inTurn[turn]
}

function rewritten(name: string, hook: HookName, returned: HistoryRewrite, before: Rewritten): Rewritten {
  if (returned === undefined) return before
  const messages: unknown = Array.isArray(returned) ? returned : (returned as { messages?: unknown } | null)?.messages
  if (!isHistory(messages, before.messages)) throw invalidReturn(name, hook, 'messages, { messages, ctx } or nothing')
  return { ctx: 'ctx' in returned ? checkContext(name, hook, returned.ctx) : before.ctx, messages }
}

/** Whether this is a history; messages of the history before are not checked again, which saves 50 of 76 µs of a turn on 10,000 messages. */
function isHistory(messages: unknown, before: readonly Message[]): messages is readonly Message[] {
  return (
    Array.isArray(messages) && messages.every((message, i) => message === before[i] || ROLES.includes(message?.role))
  )
}

const ROLES: readonly unknown[] = ['system', 'user', 'assistant', 'tool']

function checkConfig(name: string, { instruction, tools, input, runOptions }: AgentConfig): void {
  const wrong = (what: string) => invalidReturn(name, 'beforeAgent', what)
  if (typeof instruction !== 'string') throw wrong('config.instruction to be text')
  if (!Array.isArray(tools) || !tools.every((meta) => meta?.tool?.name))
    throw wrong('config.tools to be a list of { tool, returnDirectly }')
  try {
    checkTools(tools)
  } catch (cause) {
    throw invalidReturn(name, 'beforeAgent', `valid config.tools: ${KernelError.from(cause).message}`)
  }
  if (!Array.isArray(input?.messages)) throw wrong('config.input.messages to be a list')
  if (typeof runOptions !== 'object' || runOptions === null) throw wrong('config.runOptions to be an object')
}

function checkContext(name: string, hook: HookName, ctx: RunContext): RunContext {
  if (typeof ctx?.derive === 'function') return ctx
  throw invalidReturn(name, hook, 'a context or nothing')
}
