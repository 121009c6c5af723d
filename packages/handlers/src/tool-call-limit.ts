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

  return {
    name: WHO,
    beforeAgent(ctx, { input }) {
      const counts = new Counts(limits, perRun)
      counts.addResults(input.messages, ctx.agentName)
      return ctx.with(counted, counts)
    },
    // Decides on all calls of a turn at once, because a run that goes on after a crash does not make those again that were done.
    afterModelRewriteHistory(ctx, messages) {
      const counts = ctx.get(counted)
      counts?.addResults(messages, ctx.agentName)
      const last = messages.at(-1)
      if (last?.role === 'assistant') for (const { id, name } of last.toolCalls ?? []) counts?.add(id, name)
    },
    async wrapInvokableToolCall(ctx, input, next) {
      const refused = ctx.get(counted)?.add(input.callId, input.name)
      return refused ? refusal(refused) : next(ctx, input)
    },
  }
}

/** The calls of one agent, and whether each is within the limits. */
class Counts {
  readonly #limits: ReadonlyMap<string, number>
  readonly #perRun: number | undefined
  readonly #byTool = new Map<string, number>()
  /** Why calls are refused, by call id; undefined for those that may run. */
  readonly #calls = new Map<string, string | undefined>()
  #all = 0

  constructor(limits: ReadonlyMap<string, number>, perRun: number | undefined) {
    this.#limits = limits
    this.#perRun = perRun
  }

  /** Counts a call, once, and says why it is refused. */
  add(callId: string, name: string): string | undefined {
    if (this.#calls.has(callId)) return this.#calls.get(callId)
    const refused = this.#refused(name)
    this.#calls.set(callId, refused)
    if (refused === undefined) this.#count(name)
    return refused
  }

  /** Counts the results since the last user message, without those of refused calls. */
  addResults(messages: readonly Message[], agentName: string): void {
    for (let i = messages.length - 1; i >= 0; i--) {
      const message = messages[i]
      if (message === undefined || (message.role === 'user' && message.agentName === undefined)) break
      if (message.role !== 'tool' || message.error?.code === EXCEEDED || this.#calls.has(message.callId)) continue
      if (message.agentName !== undefined && message.agentName !== agentName) continue
      this.#calls.set(message.callId, undefined)
      this.#count(message.name)
    }
  }

  #count(name: string): void {
    this.#byTool.set(name, this.#of(name) + 1)
    this.#all++
  }

  #refused(name: string): string | undefined {
    const limit = this.#limits.get(name)
    const made = this.#of(name)
    if (limit !== undefined && made >= limit) return `tool ${name}: may be called ${limit} times, got call ${made + 1}`
    if (this.#perRun === undefined || this.#all < this.#perRun) return undefined
    return `tool ${name}: all tools together may be called ${this.#perRun} times, got call ${this.#all + 1}`
  }

  #of(name: string): number {
    return this.#byTool.get(name) ?? 0
  }
}

function refusal(message: string): ToolCallResult {
  const error = new KernelError('TOOL_LIMIT_EXCEEDED', message)
  return { content: `Error: ${message}. Go on without this call.`, error: error.toJSON() }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
