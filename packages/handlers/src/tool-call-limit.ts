import { type AgentHandler, contextKey, KernelError, type Message, type ToolCallResult } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { isWhole } from './is-whole.ts'

/** Options of `toolCallLimit`; at least one limit is required. */
export interface ToolCallLimitOptions {
  /** Calls of all tools together. @default no limit */
  readonly perRun?: number
  /** Calls by tool name. @default no limits */
  readonly perTool?: { readonly [name: string]: number }
}

const WHO = 'toolCallLimit'
const EXCEEDED = 'TOOL_LIMIT_EXCEEDED'

/**
 * Answers tool calls beyond a limit with an error instead of running them, so that the model answers with the results it has.
 * Contract: counts the calls of one agent since the last user message, including those before a resume, in the order in which the model asks for them.
 * @example chatModelAgent({ name: 'guide', model, tools: [search], handlers: [toolCallLimit({ perRun: 20, perTool: { search: 5 } })] })
 */
export function toolCallLimit(options: ToolCallLimitOptions): AgentHandler {
  checkOptionNames(WHO, options, { perRun: true, perTool: true })
  const { perRun, perTool } = options
  checkOption(perRun === undefined || isWhole(perRun, 0), WHO, 'perRun must be a whole number from 0 on', perRun)
  checkOption(
    perTool === undefined || isObject(perTool),
    WHO,
    'perTool must be an object of limits by tool name',
    perTool,
  )
  checkOption(perRun !== undefined || perTool !== undefined, WHO, 'expected perRun or perTool', undefined)
  const limits = new Map(Object.entries(perTool ?? {}))
  for (const [name, limit] of limits) {
    checkOption(isWhole(limit, 0), WHO, `perTool.${name} must be a whole number from 0 on`, limit)
  }
  const counted = contextKey<Counts>('toolCallLimit')
  const refuse = (name: string, counts: Counts): ToolCallResult | undefined => {
    const limit = limits.get(name)
    if (limit !== undefined && counts.of(name) >= limit) {
      return refused(`tool ${name}: may be called ${limit} times`, counts.of(name))
    }
    if (perRun !== undefined && counts.all >= perRun) {
      return refused(`tool ${name}: all tools together may be called ${perRun} times`, counts.all)
    }
    counts.add(name)
    return undefined
  }

  return {
    name: WHO,
    beforeAgent: (ctx, { input }) => ctx.with(counted, countBefore(input.messages, ctx.agentName)),
    // Decides on all calls of a turn at once, because a run that goes on after a crash does not make those again that were done.
    afterModelRewriteHistory(ctx, messages) {
      const counts = ctx.get(counted)
      const last = messages.at(-1)
      if (!counts || last?.role !== 'assistant') return
      for (const { id, name } of last.toolCalls ?? []) counts.decided.set(id, refuse(name, counts))
    },
    async wrapInvokableToolCall(ctx, input, next) {
      const counts = ctx.get(counted)
      if (!counts) return next(ctx, input)
      const { name, callId } = input
      const refusal = counts.decided.has(callId) ? counts.decided.get(callId) : refuse(name, counts)
      return refusal ?? next(ctx, input)
    },
  }
}

class Counts {
  readonly #byTool = new Map<string, number>()
  /** The decisions on the calls of this run, by call id: a refusal, or undefined for a call that may run. */
  readonly decided: Map<string, ToolCallResult | undefined> = new Map()
  all = 0

  of(name: string): number {
    return this.#byTool.get(name) ?? 0
  }

  add(name: string): void {
    this.#byTool.set(name, this.of(name) + 1)
    this.all++
  }
}

function refused(what: string, before: number): ToolCallResult {
  const error = new KernelError('TOOL_LIMIT_EXCEEDED', `${what}, got call ${before + 1}`)
  return { content: `Error: ${error.message}. Go on without this call.`, error: error.toJSON() }
}

/** Counts the calls since the last user message that an interrupted run has answered, without the refused ones. */
function countBefore(messages: readonly Message[], agentName: string): Counts {
  const counts = new Counts()
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]
    if (message === undefined || (message.role === 'user' && message.agentName === undefined)) break
    if (message.role !== 'tool' || message.error?.code === EXCEEDED) continue
    if (message.agentName !== undefined && message.agentName !== agentName) continue
    counts.add(message.name)
  }
  return counts
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
