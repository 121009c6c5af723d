import { contextKey, type RunContext, type Tool, type ToolCallInput, type ToolCallResult } from '@troupe/kernel'
import { checkOption, toolResult } from '@troupe/kernel/kit'
import { BUDGET } from './budget.ts'
import type { ToolGuard } from './environment.ts'

/** The context key of the guards of all callers around a call, each once, the outermost first. */
const GUARDS: ReturnType<typeof contextKey<readonly ToolGuard[]>> = contextKey<readonly ToolGuard[]>('subagent-guards')

/** Gives the guards of the callers around a call. */
export function guardsIn(ctx: RunContext): readonly ToolGuard[] {
  return ctx.get(GUARDS) ?? []
}

/** Adds a guard to those that apply to the agents that a call runs. */
export function withGuard(ctx: RunContext, guard: ToolGuard | undefined): RunContext {
  const guards = guardsIn(ctx)
  return !guard || guards.includes(guard) ? ctx : ctx.with(GUARDS, [...guards, guard])
}

/** Applies guards to a tool, the first one outermost. Contract: throws `CONFIG_INVALID` if one gives a tool of another name. */
export function guardedBy(guards: readonly ToolGuard[], tool: Tool, path: readonly string[]): Tool {
  return guards.reduceRight((inner, guard) => {
    const guarded = guard(inner, { path })
    const who = `guard of tool ${tool.name}`
    checkOption(guarded?.name === tool.name, who, 'must give a tool of the same name', guarded?.name)
    return guarded
  }, tool)
}

/** Applies an agent's own guard to the calls of this agent, wherever it is called. */
export class CallGuard {
  readonly #tool: Tool
  readonly #guard: ToolGuard
  readonly #byPath: Map<string, Tool> = new Map()

  constructor(tool: Tool, guard: ToolGuard) {
    this.#tool = tool
    this.#guard = guard
  }

  /** Returns whether this guard has not decided on the call yet: its caller is the main agent, or has another guard. */
  appliesIn(ctx: RunContext): boolean {
    return !guardsIn(ctx).includes(this.#guard)
  }

  async invoke(args: unknown, ctx: RunContext, call: ToolCallInput | undefined): Promise<ToolCallResult> {
    const { name } = this.#tool
    const guarded = this.#at(ctx.get(BUDGET)?.path ?? [])
    const text = JSON.stringify(args) ?? ''
    const input = call ?? { name, arguments: text, callId: name, step: ctx.step, idempotencyKey: '' }
    return toolResult(name, await guarded.invoke?.(args, withGuard(ctx, this.#guard), input))
  }

  #at(path: readonly string[]): Tool {
    const key = path.join('/')
    const known = this.#byPath.get(key)
    if (known) return known
    const guarded = guardedBy([this.#guard], this.#tool, path)
    checkOption(
      typeof guarded.invoke === 'function',
      `guard of tool ${guarded.name}`,
      'must give a tool with invoke',
      guarded,
    )
    this.#byPath.set(key, guarded)
    return guarded
  }
}
