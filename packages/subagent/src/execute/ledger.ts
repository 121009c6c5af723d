import {
  addUsage,
  contextKey,
  type Json,
  type JsonObject,
  KernelError,
  type Message,
  NO_USAGE,
  type RunContext,
  type Usage,
} from '@troupe/kernel'
import { unanswered } from '@troupe/kernel/history'
import { COMPLETE_TASK } from '../define/define-agent.ts'
import type { AgentLimits } from '../define/limits.ts'
import { Stopwatch } from './stopwatch.ts'
import { soundUsage, tokensOf, usageBetween } from './tokens.ts'

/** A limit that can end an agent's work. */
export type LimitReason = 'max-turns' | 'timeout' | 'max-tokens' | 'max-tool-calls' | 'depth'

/** What an agent has used so far, as it survives a question to a person. */
export type Spent = {
  readonly turns: number
  readonly toolCalls: number
  readonly elapsedMs: number
  readonly usage: Usage
  readonly childrenUsage: Usage
  readonly childrenToolCalls: number
  readonly refused: boolean
  /** The calls among them that have no result yet: they run again and count once. */
  readonly waiting: readonly string[]
}

/** Where the ledger of an agent's call stands in the contexts below it. */
export const LEDGER: ReturnType<typeof contextKey<Ledger>> = contextKey<Ledger>('subagent')

/** Contract: throws `CONFIG_INVALID` where no agent is at work. */
export function ledgerOf(ctx: RunContext): Ledger {
  const ledger = ctx.get(LEDGER)
  if (ledger) return ledger
  throw new KernelError('CONFIG_INVALID', `agent ${ctx.agentName}: runs inside a SubagentTool only`)
}

/**
 * What one call of an agent uses, and what stops it.
 * Contract: what agents below it use counts here too, as it is used, so one budget holds for the tree; everything in it is JSON in `spent`, or follows from the history.
 */
export class Ledger {
  readonly path: readonly string[]
  readonly parent: Ledger | undefined
  readonly depth: number
  readonly limits: Required<AgentLimits>
  readonly watch: Stopwatch
  /** The rendered instruction of this call. */
  instruction = ''
  /** Its own history in this call. */
  history: Message[] = []
  runId = ''
  turns = 0
  usage: Usage = NO_USAGE
  childrenUsage: Usage = NO_USAGE
  output: { readonly value: Json } | undefined
  /** Set as soon as a completion was accepted in this attempt, before its result is in the history. */
  completed = false
  /** The first limit that was reached; `own` is false where it is that of an agent above. */
  stopped: { readonly reason: LimitReason; readonly error: KernelError; readonly own: boolean } | undefined
  #toolCalls = 0
  #childrenToolCalls = 0
  #refused = false
  #missed: KernelError | undefined
  readonly #counted: Set<string> = new Set()
  #again: Set<string> = new Set()
  #allowedMs = 0
  #heardTokens: Usage = NO_USAGE
  #abort: ((error: KernelError) => void) | undefined

  constructor(path: readonly string[], limits: Required<AgentLimits>, ctx: RunContext) {
    this.path = path
    this.limits = limits
    this.parent = ctx.get(LEDGER)
    this.depth = (this.parent?.depth ?? 0) + 1
    this.watch = new Stopwatch(ctx.clock)
  }

  /** An attempt is about to begin; `abort` ends it. */
  open(allowedMs: number, abort: (error: KernelError) => void): void {
    this.#allowedMs = allowedMs
    this.#abort = abort
  }

  close(): void {
    this.watch.stop()
    this.#abort = undefined
  }

  /** The agent starts, or goes on with what it had used before. */
  begin(runId: string, messages: readonly Message[], resumed?: { readonly spent: Spent | undefined }): void {
    this.runId = runId
    this.history = messages.slice()
    if (resumed) this.#restore(messages, resumed.spent)
    this.completed = this.output !== undefined
    this.#heardTokens = addUsage(this.usage, this.childrenUsage)
    this.watch.start(this.#allowedMs, () => {
      const message = `${this.who}: not done within ${this.#allowedMs} ms`
      this.#stop('timeout', new KernelError('TIMEOUT', message, { retryable: true }), this)
    })
  }

  get who(): string {
    return `agent ${this.path.join('/')}`
  }

  /** The limit for which a call was not run: one of its own, or one below it for its own limit. */
  get missed(): KernelError | undefined {
    return this.#missed ?? (this.#refused ? this.#noCalls() : undefined)
  }

  get toolCalls(): number {
    return this.#toolCalls
  }

  get spent(): Spent {
    return {
      turns: this.turns,
      toolCalls: this.#toolCalls,
      elapsedMs: this.watch.elapsedMs,
      usage: this.usage,
      childrenUsage: this.childrenUsage,
      childrenToolCalls: this.#childrenToolCalls,
      refused: this.#refused,
      waiting: unanswered(this.history).flatMap(({ id }) => (this.#counted.has(id) ? [id] : [])),
    }
  }

  /** Something was said in the agent's own run. */
  hear(message: Message): void {
    this.history.push(message)
    this.output ??= outputOf(message)
  }

  use(told: Usage): void {
    const usage = soundUsage(told)
    this.usage = addUsage(this.usage, usage)
    for (let above = this.parent; above; above = above.parent) {
      above.childrenUsage = addUsage(above.childrenUsage, usage)
    }
  }

  /** The run has ended with so many tokens; what nobody has counted was used by runs nested in it that are no sub-agents. */
  settle(total: Usage): void {
    const known = addUsage(this.usage, this.childrenUsage)
    const rest = usageBetween(usageBetween(this.#heardTokens, known), soundUsage(total))
    if (tokensOf(rest) <= 0) return
    for (let one: Ledger | undefined = this; one; one = one.parent) {
      one.childrenUsage = addUsage(one.childrenUsage, rest)
    }
  }

  /** Contract: throws where no further model call is allowed. */
  beforeModel(): void {
    const { maxTurns } = this.limits
    if (this.turns >= maxTurns) {
      const message = `${this.who}: made ${this.turns} of ${maxTurns} model calls without an end`
      throw this.#stop('max-turns', new KernelError('MAX_ITERATIONS', message), this)
    }
    for (let one: Ledger | undefined = this; one; one = one.parent) {
      const tokens = tokensOf(one.usage) + tokensOf(one.childrenUsage)
      if (tokens >= one.limits.maxTokens) {
        throw this.#stop('max-tokens', limit(`${one.who}: used ${tokens} of ${one.limits.maxTokens} tokens`), one)
      }
      if (one.#refused) {
        throw this.#stop('max-tool-calls', one.#noCalls(), one)
      }
    }
  }

  /** Counts a call of a tool; gives the error where no further one is allowed. Contract: one that runs again on resume is counted once. */
  beforeTool(callId: string): KernelError | undefined {
    if (this.#again.delete(callId)) return undefined
    for (let one: Ledger | undefined = this; one; one = one.parent) {
      if (one.#toolCalls + one.#childrenToolCalls < one.limits.maxToolCalls) continue
      one.#refused = true
      this.#missed ??= one.#noCalls()
      return limit(`${one.who}: may make ${one.limits.maxToolCalls} tool calls; this one was not run`)
    }
    this.#counted.add(callId)
    this.#toolCalls++
    for (let above = this.parent; above; above = above.parent) above.#childrenToolCalls++
    return undefined
  }

  /** The agent whose limit of depth does not allow this one. */
  tooDeep(): KernelError | undefined {
    for (let one: Ledger | undefined = this.parent; one; one = one.parent) {
      const levels = this.depth - one.depth + 1
      if (levels <= one.limits.maxDepth) continue
      return limit(`${this.who}: would be level ${levels} below ${one.who}, which allows ${one.limits.maxDepth}`)
    }
    return undefined
  }

  #noCalls(): KernelError {
    return limit(`${this.who}: made ${this.limits.maxToolCalls} tool calls`)
  }

  #stop(reason: LimitReason, error: KernelError, whose: Ledger): KernelError {
    this.stopped ??= { reason, error, own: whose === this }
    this.#abort?.(error)
    return error
  }

  #restore(messages: readonly Message[], spent: Spent | undefined): void {
    this.#again = new Set(spent?.waiting)
    for (const callId of this.#again) this.#counted.add(callId)
    for (const message of messages) this.output ??= outputOf(message)
    // What an agent has used that asked without a word about its state is in its history, as far as it can be.
    this.turns = spent?.turns ?? messages.filter(({ role }) => role === 'assistant').length
    this.#toolCalls =
      spent?.toolCalls ?? messages.filter((one) => one.role === 'tool' && one.name !== COMPLETE_TASK).length
    this.watch.elapsedMs = spent?.elapsedMs ?? 0
    this.usage = spent?.usage ?? NO_USAGE
    this.childrenUsage = spent?.childrenUsage ?? NO_USAGE
    this.#childrenToolCalls = spent?.childrenToolCalls ?? 0
    this.#refused = spent?.refused ?? false
  }
}

/**
 * Stops the clocks of all agents around a call while a person is asked in it.
 * Contract: call what it returns when the answer is there, in a `finally`; outside a sub-agent it does nothing.
 * @example const goOn = pauseLimits(ctx); try { return await askPerson() } finally { goOn() }
 */
export function pauseLimits(ctx: RunContext): () => void {
  const goOn: (() => void)[] = []
  for (let one = ctx.get(LEDGER); one; one = one.parent) goOn.push(one.watch.pause())
  return () => {
    for (const resume of goOn) resume()
  }
}

function limit(message: string): KernelError {
  return new KernelError('SUBAGENT_LIMIT', message)
}

function outputOf(message: Message): { readonly value: Json } | undefined {
  if (message.role !== 'tool' || message.name !== COMPLETE_TASK || message.error) return undefined
  const data = message.data as JsonObject | undefined
  return data && 'output' in data ? { value: data.output as Json } : undefined
}
