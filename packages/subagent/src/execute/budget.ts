import {
  contextKey,
  type Json,
  type JsonObject,
  KernelError,
  type Message,
  type RunContext,
  type ToolCall,
  type Usage,
} from '@troupe/kernel'
import { unanswered } from '@troupe/kernel/history'
import { addUsage, NO_USAGE } from '@troupe/kernel/kit'
import type { AgentLimits } from '../define/agent-limits.ts'
import { COMPLETE_TASK } from '../define/define-agent.ts'
import { Stopwatch } from './stopwatch.ts'
import type { SubagentReason } from './subagent-status.ts'
import { soundUsage, tokensOf, usageBetween } from './tokens.ts'

/** The use of an agent so far. */
type Spent = {
  readonly turns: number
  readonly toolCalls: number
  readonly elapsedMs: number
  readonly usage: Usage
  readonly childrenUsage: Usage
  readonly childrenToolCalls: number
  readonly refused: boolean
  /** The counted calls without a result: they run again and count once. */
  readonly waiting: readonly string[]
}

/** The detail of a timeout that names the run whose time was over. */
const TIME_OF = 'timeOf'

/** The context key of the budget that applies to a call. */
export const BUDGET: ReturnType<typeof contextKey<Budget>> = contextKey<Budget>('subagent')

/** Gives the budget in a context. Contract: throws `CONFIG_INVALID` outside a sub-agent. */
export function budgetOf(ctx: RunContext): Budget {
  const budget = ctx.get(BUDGET)
  if (budget) return budget
  throw new KernelError('CONFIG_INVALID', `agent ${ctx.agentName}: must run inside a SubagentTool`)
}

/**
 * Counts what one call of an agent uses, and stops the agent at its limits.
 * Contract: the use of agents below counts here too, as it happens, so that one budget covers the tree; all of its state is JSON in `spent` or follows from the history.
 */
export class Budget {
  readonly path: readonly string[]
  readonly parent: Budget | undefined
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
  /** The tools that the agent has. */
  toolNames: ReadonlySet<string> = new Set()
  /** The first limit that was reached; `own` is false for the limit of an agent above. */
  stopped: { readonly reason: SubagentReason; readonly error: KernelError; readonly own: boolean } | undefined
  #toolCalls = 0
  #childrenToolCalls = 0
  #refused = false
  #skipped: KernelError | undefined
  readonly #counted: Set<string> = new Set()
  /** The decisions on calls that were not made yet: an error, or undefined for a call that may run. */
  readonly #decided: Map<string, KernelError | undefined> = new Map()
  /** Whether a result was accepted that is not in the history yet. */
  #accepted = false
  #rerun: Set<string> = new Set()
  #allowedMs = 0
  #usageAtStart: Usage = NO_USAGE
  #abort: ((error: KernelError) => void) | undefined

  constructor(path: readonly string[], limits: Required<AgentLimits>, ctx: RunContext) {
    this.path = path
    this.limits = limits
    this.parent = ctx.get(BUDGET)
    this.depth = (this.parent?.depth ?? 0) + 1
    this.watch = new Stopwatch(ctx.clock)
  }

  /** Prepares an attempt, which `abort` ends. */
  open(allowedMs: number, abort: (error: KernelError) => void): void {
    this.#allowedMs = allowedMs
    this.#abort = abort
  }

  close(): void {
    this.watch.stop()
    this.#abort = undefined
  }

  /** Starts counting, or continues from the use before a resume. */
  begin(runId: string, messages: readonly Message[], resumed?: { readonly spent: Json | undefined }): void {
    this.runId = runId
    this.history = messages.slice()
    if (resumed) this.#restore(messages, resumed.spent as Spent | undefined)
    this.#accepted = false
    this.#usageAtStart = addUsage(this.usage, this.childrenUsage)
    this.watch.start(this.#allowedMs, () => {
      const message = `${this.who}: not done within ${this.#allowedMs} ms`
      const details = { [TIME_OF]: this.runId }
      this.#stop('timeout', new KernelError('TIMEOUT', message, { retryable: true, details }), this)
    })
  }

  /** Stops the agent whose time was over when the run was here before: the step that it stopped is recorded with this error. */
  repeatTimeout(error: KernelError): void {
    for (let one: Budget | undefined = this; one; one = one.parent) {
      if (error.details[TIME_OF] === one.runId) one.#stop('timeout', error, one)
    }
  }

  get who(): string {
    return `agent ${this.path.join('/')}`
  }

  /** The limit because of which a call was not run: one of this agent's calls, or a call below it that exceeded this agent's limit. */
  get skipped(): KernelError | undefined {
    return this.#skipped ?? (this.#refused ? this.#toolCallsError() : undefined)
  }

  get toolCalls(): number {
    return this.#toolCalls
  }

  /** Whether the agent has handed in its result. */
  get completed(): boolean {
    return this.#accepted || this.output !== undefined
  }

  /** Accepts a result before it is in the history. */
  accept(): void {
    this.#accepted = true
  }

  /** The use so far, saved while the agent waits for a person. */
  get spent(): Json {
    const spent: Spent = {
      turns: this.turns,
      toolCalls: this.#toolCalls,
      elapsedMs: this.watch.elapsedMs,
      usage: this.usage,
      childrenUsage: this.childrenUsage,
      childrenToolCalls: this.#childrenToolCalls,
      refused: this.#refused,
      waiting: unanswered(this.history).flatMap(({ id }) => (this.#counted.has(id) ? [id] : [])),
    }
    return spent
  }

  /** Adds a message of the agent's own run. */
  addMessage(message: Message): void {
    this.history.push(message)
    this.output ??= outputOf(message)
  }

  use(reported: Usage): void {
    const usage = soundUsage(reported)
    this.usage = addUsage(this.usage, usage)
    for (let above = this.parent; above; above = above.parent) {
      above.childrenUsage = addUsage(above.childrenUsage, usage)
    }
  }

  /** Adds the tokens that are in the run's total and not counted yet: those of nested runs that are not sub-agents. */
  settle(total: Usage): void {
    const known = addUsage(this.usage, this.childrenUsage)
    const rest = usageBetween(usageBetween(this.#usageAtStart, known), soundUsage(total))
    if (tokensOf(rest) <= 0) return
    for (let one: Budget | undefined = this; one; one = one.parent) {
      one.childrenUsage = addUsage(one.childrenUsage, rest)
    }
  }

  /** Contract: throws if no further model call is allowed. */
  beforeModel(): void {
    const { maxTurns } = this.limits
    if (this.turns >= maxTurns) {
      const message = `${this.who}: made ${this.turns} of ${maxTurns} model calls without a result`
      throw this.#stop('max-turns', new KernelError('MAX_ITERATIONS', message), this)
    }
    for (let one: Budget | undefined = this; one; one = one.parent) {
      const tokens = tokensOf(one.usage) + tokensOf(one.childrenUsage)
      if (tokens >= one.limits.maxTokens) {
        throw this.#stop('max-tokens', limit(`${one.who}: used ${tokens} of ${one.limits.maxTokens} tokens`), one)
      }
      if (one.#refused) {
        throw this.#stop('max-tool-calls', one.#toolCallsError(), one)
      }
    }
  }

  /**
   * Decides on the calls of a turn, in their order.
   * Contract: called when the model has answered; a run that goes on after a crash decides the same, though it does not make the calls again that were done.
   */
  beforeTurn(calls: readonly ToolCall[]): void {
    for (const { id, name } of calls) {
      if (name !== COMPLETE_TASK && this.toolNames.has(name)) this.#decided.set(id, this.#decide(id))
    }
  }

  /** Gives the error if a call is not allowed. Contract: a call that runs again on resume counts once. */
  beforeTool(callId: string): KernelError | undefined {
    if (this.#rerun.delete(callId)) return undefined
    return this.#decided.has(callId) ? this.#decided.get(callId) : this.#decide(callId)
  }

  /** Counts a call, or gives the error if no further one is allowed. */
  #decide(callId: string): KernelError | undefined {
    for (let one: Budget | undefined = this; one; one = one.parent) {
      if (one.#toolCalls + one.#childrenToolCalls < one.limits.maxToolCalls) continue
      one.#refused = true
      this.#skipped ??= one.#toolCallsError()
      return limit(`${one.who}: reached its limit of ${one.limits.maxToolCalls} tool calls; this call was not run`)
    }
    this.#counted.add(callId)
    this.#toolCalls++
    for (let above = this.parent; above; above = above.parent) above.#childrenToolCalls++
    return undefined
  }

  /** Gives the error if the depth limit of an agent above does not allow this one. */
  tooDeep(): KernelError | undefined {
    for (let one: Budget | undefined = this.parent; one; one = one.parent) {
      const levels = this.depth - one.depth + 1
      if (levels <= one.limits.maxDepth) continue
      return limit(
        `${this.who}: would be level ${levels} counted from ${one.who}, whose maxDepth is ${one.limits.maxDepth}`,
      )
    }
    return undefined
  }

  #toolCallsError(): KernelError {
    return limit(`${this.who}: made ${this.limits.maxToolCalls} tool calls`)
  }

  #stop(reason: SubagentReason, error: KernelError, whose: Budget): KernelError {
    this.stopped ??= { reason, error, own: whose === this }
    this.#abort?.(error)
    return error
  }

  #restore(messages: readonly Message[], spent: Spent | undefined): void {
    this.#rerun = new Set(spent?.waiting)
    for (const callId of this.#rerun) this.#counted.add(callId)
    for (const message of messages) this.output ??= outputOf(message)
    // An interrupt without saved use: the history gives at least the turns and tool calls.
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
 * Pauses the time limits of all agents around a call while it waits for a person.
 * Contract: call the returned function in a `finally` when the answer has arrived; does nothing outside a sub-agent.
 * @example const resume = pauseLimits(ctx); try { return await askPerson() } finally { resume() }
 */
export function pauseLimits(ctx: RunContext): () => void {
  const resumes: (() => void)[] = []
  for (let one = ctx.get(BUDGET); one; one = one.parent) resumes.push(one.watch.pause())
  return () => {
    for (const resume of resumes) resume()
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
