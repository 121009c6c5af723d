import {
  type AgentAction,
  type Answers,
  type CallScope,
  type Interrupt,
  type Journal,
  type Json,
  KernelError,
  type Part,
  type RunContext,
  type Tool,
  type ToolCall,
  type ToolCallInput,
  type ToolCallResult,
  type ToolMessage,
} from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { pipe } from '@troupe/kernel/kit'
import { HISTORY, openSpan } from '@troupe/kernel/run'
import { isHandlerError } from '../errors/error-origin.ts'
import { CallPermission, PERMISSION } from './approval.ts'
import { callKey, OUTER_KEY } from './call-key.ts'
import type { CallEffects } from './call-record.ts'
import { failedResult, isThrown, thrownError } from './failed-result.ts'
import { type KeptAction, steers } from './kept-action.ts'
import { recordedCall } from './recorded-call.ts'
import { TOOL_NAMES } from './toolbox.ts'
import type { ParkedCall, TurnInput } from './turn-input.ts'
import { outcomeOf, outcomeRequest } from './unknown-outcome.ts'

/** One tool call that runs. Contract: it ends answered, open or interrupted, and never throws. */
export class RunningCall implements CallScope {
  readonly callId: string
  readonly answers?: Answers
  readonly saved?: Json
  readonly tool: Tool | undefined
  readonly effects: CallEffects = {
    interrupts: [],
    actions: [],
    customActions: [],
    asksApproval: false,
    asksOutcome: false,
    saved: undefined,
    began: undefined,
  }
  /** The error that ends the run, once every call has settled. */
  failure: KernelError | undefined
  readonly #turn: TurnInput
  readonly #ctx: RunContext
  readonly #parked: ParkedCall | undefined
  readonly #returnDirectly: boolean
  readonly #besideOpen: boolean
  #input: ToolCallInput
  #result: ToolCallResult | undefined
  #messageId = ''
  #started: boolean
  readonly #permission: CallPermission | undefined
  /** Whether `tool-end` was written. */
  #ended = false
  /** The action that goes into the result, because it must outlive this run. */
  #kept: KeptAction | undefined

  constructor(turn: TurnInput, call: ToolCall, index: number, besideOpen: boolean) {
    const { id, name } = call
    const meta = turn.toolbox.get(name)
    this.callId = id
    this.tool = meta?.tool
    this.#turn = turn
    this.#returnDirectly = meta?.returnDirectly ?? false
    this.#besideOpen = besideOpen
    const { interrupted } = turn
    this.#parked = interrupted?.parked[id]
    this.#started = this.#parked?.started ?? false
    if (interrupted) this.answers = interrupted.answers
    if (this.#parked?.saved !== undefined) this.saved = this.#parked.saved
    const key = this.#parked?.key ?? callKey(turn.ctx, id)
    const ctx = turn.ctx.derive({ step: `tool:${turn.turn}:${index}`, call: this }).with(OUTER_KEY, key)
    const asked = this.#parked?.approval ?? false
    if (asked || this.tool?.needsApproval) {
      this.effects.asksApproval = asked
      this.#permission = new CallPermission(ctx, asked, {
        begin: (args) => this.#begin(args),
        ask: () => {
          this.effects.asksApproval = true
        },
      })
    }
    this.#ctx = this.#contextOf(ctx)
    const { step } = this.#ctx
    const callOptions = turn.callOptions && Object.hasOwn(turn.callOptions, name) ? turn.callOptions[name] : undefined
    const input: { -readonly [K in keyof ToolCallInput]: ToolCallInput[K] } = {
      name,
      arguments: call.arguments,
      callId: id,
      step,
      idempotencyKey: key,
    }
    if (callOptions !== undefined) input.callOptions = callOptions
    // What was asked stays asked, even if the tool does not ask any more.
    if (this.tool) input.tool = asked ? { needsApproval: () => true, ...this.tool } : this.tool
    this.#input = input
  }

  #contextOf(ctx: RunContext): RunContext {
    if (!this.tool) return ctx.with(TOOL_NAMES, this.#turn.toolbox.names)
    const own = this.#permission ? ctx.with(PERMISSION, this.#permission) : ctx
    // Tools that run agents may show them the conversation.
    return this.tool.effect === 'nested' ? own.with(HISTORY, () => this.#turn.messages) : own
  }

  onInterrupt(interrupts: readonly Interrupt[], state?: Json): void {
    this.effects.interrupts.push(...interrupts)
    this.effects.saved = state
  }

  get interrupts(): readonly Interrupt[] {
    return this.effects.interrupts
  }

  get direct(): boolean {
    return this.#result !== undefined && !this.#result.error && (this.#result.direct ?? this.#returnDirectly)
  }

  get answered(): boolean {
    return this.#result !== undefined
  }

  /** The action of an answered call, kept until the calls beside it have settled. */
  get keptAction(): KeptAction | undefined {
    const { direct } = this
    if (!this.answered || (!direct && this.effects.actions.length === 0)) return undefined
    return { actions: this.effects.actions, ...(direct && { direct }) }
  }

  /** Writes `tool-start`. Contract: the call may start when this has resolved; if it has to be permitted first, it is announced then. */
  announce(): void | Promise<void> {
    if (this.#permission || this.#settled) return
    try {
      return this.#begin(this.#input.arguments)?.catch((error: unknown) => this.#stop(error))
    } catch (error) {
      this.#stop(error)
    }
  }

  #begin(args: string): void | Promise<void> {
    if (this.#permission) this.effects.began = args
    if (this.#started) return
    const { name, callId } = this.#input
    const { runId, agentName, runPath } = this.#turn.stamp
    const start = { type: 'tool-start', runId, agentName, runPath, callId, name, arguments: args } as const
    const wait = this.#turn.sink.write(start)
    const started = () => {
      this.#started = true
    }
    return wait ? wait.then(started) : started()
  }

  async run(): Promise<void> {
    if (!this.#settled) {
      // Before the ids that the call makes itself, which a replay does not make.
      this.#messageId = this.#ctx.ids.next()
      const span = openSpan(this.#ctx, 'tool', this.#input.name, this.#input)
      try {
        const result = await this.#call()
        span?.end(result)
        this.#setResult(result)
      } catch (error) {
        const failure = KernelError.from(error)
        if (failure.code === 'INTERRUPTED' || failure.code === 'ABORTED') span?.end(failedResult(failure))
        else span?.fail(error)
        this.#stop(error)
      }
    }
    const wait = this.keptAction ? undefined : this.writeEnd(false)
    if (wait) await wait
  }

  get #settled(): boolean {
    return this.#result !== undefined || this.interrupts.length > 0
  }

  /** Writes `tool-end`, once. Contract: with `keep` the action goes into the result, because another call of the turn is still open. */
  writeEnd(keep: boolean): void | Promise<void> {
    const result = this.#result
    if (!result || this.#ended) return
    if (this.#permission && !this.#started && result.error?.code !== 'TOOL_REFUSED') return this.#writeBoth(keep)
    this.#ended = true
    if (this.#messageId === '') this.#messageId = this.#ctx.ids.next()
    if (keep) this.#kept = this.keptAction
    const { content, error } = result
    const { runId, agentName, runPath } = this.#turn.stamp
    const end = {
      type: 'tool-end',
      runId,
      agentName,
      runPath,
      callId: this.callId,
      messageId: this.#messageId,
      name: this.#input.name,
      status: error ? 'failed' : 'complete',
      content,
    } as const
    const optional = this.#optionalFields(result)
    const wait = this.#turn.sink.write(optional ? { ...end, ...optional } : end)
    if (wait) return wait.catch((error: unknown) => this.#stop(error))
  }

  /** Writes `tool-start` and `tool-end` of a call that was answered before it was permitted: by a wrap, or because its outcome is unknown. */
  async #writeBoth(keep: boolean): Promise<void> {
    try {
      await this.#begin(this.#input.arguments)
      await this.writeEnd(keep)
    } catch (error) {
      this.#ended = true
      this.#stop(error)
    }
  }

  message(): ToolMessage | undefined {
    if (!this.#result) return undefined
    const message = {
      id: this.#messageId,
      role: 'tool',
      callId: this.callId,
      name: this.#input.name,
      agentName: this.#ctx.agentName,
      content: this.#result.content,
    } as const
    const optional = this.#optionalFields(this.#result)
    return optional ? { ...message, ...optional } : message
  }

  /** The fields that most results do not have. */
  #optionalFields({
    display,
    data,
    error,
  }: ToolCallResult): Pick<ToolMessage, 'display' | 'data' | 'error' | 'kept'> | undefined {
    if (display === undefined && data === undefined && !error && !this.#kept) return undefined
    return {
      ...(display !== undefined && { display }),
      ...(data !== undefined && { data }),
      ...(error && { error }),
      ...(this.#kept && { kept: this.#kept }),
    }
  }

  /** How often a person was asked so far what became of the call. */
  get #outcomesAsked(): number {
    return (this.#parked?.outcomesAsked ?? 0) + (this.effects.asksOutcome ? 1 : 0)
  }

  parked(): ParkedCall {
    return {
      name: this.#input.name,
      started: this.#started,
      approval: this.effects.asksApproval,
      key: this.#input.idempotencyKey,
      ...(this.#outcomesAsked > 0 && { outcomesAsked: this.#outcomesAsked }),
      ...(this.effects.saved !== undefined && { saved: this.effects.saved }),
    }
  }

  #call(): Promise<ToolCallResult> {
    const { outcomesAsked = 0 } = this.#parked ?? {}
    return outcomesAsked === 0 ? this.#perform() : this.#performUnlessDone(outcomesAsked)
  }

  /** Makes a call that has broken off so many times, unless the last answer says that it was carried out. */
  async #performUnlessDone(outcomesAsked: number): Promise<ToolCallResult> {
    let answer: Json = null
    for (let i = 0; i < outcomesAsked; i++) answer = await this.#askOutcome()
    return outcomeOf(answer) ?? this.#perform()
  }

  /** The result of a call that may have been carried out before the run broke off. */
  async #lost({ unknownCalls }: Journal): Promise<ToolCallResult> {
    const unknown = { content: UNKNOWN_RESULT }
    if (unknownCalls !== 'ask') return unknown
    this.effects.asksOutcome = true
    return outcomeOf(await this.#askOutcome()) ?? unknown
  }

  #askOutcome(): Promise<Json> {
    const { name, arguments: args } = this.#input
    // No answer to the tool or to a handler counts as an answer here.
    return this.#ctx.derive({ asker: 'outcome' }).interrupt(outcomeRequest(name, this.tool?.displayName ?? name, args))
  }

  #perform(): Promise<ToolCallResult> {
    const { journal, sink } = this.#turn
    const { callId } = this
    const show = (delta: string | Part) => sink.write({ type: 'tool-delta', callId, delta })
    // The steps of the runs inside a nested call are recorded instead.
    return !journal || this.tool?.effect === 'nested' ? this.#attempt(this.#ctx, show) : this.#record(journal, show)
  }

  #record(journal: Journal, show: (delta: string | Part) => void | Promise<void>): Promise<ToolCallResult> {
    const record = (mayHaveBegun: boolean) =>
      recordedCall(journal, {
        ctx: this.#ctx,
        effects: this.effects,
        lost: mayHaveBegun ? () => this.#lost(journal) : undefined,
        call: (ctx, showChunk) => this.#attempt(ctx, showChunk),
        show,
        begin: (args) => this.#begin(args),
      })
    const mayHaveBegun = this.#mayHaveBegun()
    return typeof mayHaveBegun === 'boolean' ? record(mayHaveBegun) : mayHaveBegun.then(record)
  }

  /** Whether the call may have had an effect that must not happen twice, if an attempt broke off. Contract: one that a person had to be asked for first has not, unless it runs again and may have the answer. */
  #mayHaveBegun(): boolean | Promise<boolean> {
    const { tool } = this
    if ((tool?.effect ?? 'once') !== 'once') return false
    if (!tool || !this.#permission || this.#parked || this.#turn.wrapsTools) return true
    return this.#permission.asksFirst(tool, this.#input.arguments, this.#turn.validator).then((asks) => !asks)
  }

  #attempt(ctx: RunContext, show: (chunk: string | Part) => void | Promise<void>): Promise<ToolCallResult> {
    if (this.tool?.stream && !this.tool.longRunning) return this.#streamed(ctx, show)
    return this.#turn.invokeTool(ctx, this.#input)
  }

  #setResult(result: ToolCallResult): void {
    // A question counts, even if the tool caught its rejection.
    if (this.interrupts.length > 0) return
    // The result of a long-running call arrives later, from outside.
    if (this.tool?.longRunning && !result.error) return
    this.#result = result
    if (this.tool?.onError === 'throw' && isThrown(result)) this.failure = thrownError(this.tool.name, result)
  }

  async #streamed(ctx: RunContext, show: (chunk: string | Part) => void | Promise<void>): Promise<ToolCallResult> {
    const { stream: chunks, result } = await this.#turn.streamTool(ctx, this.#input)
    result.catch(() => undefined)
    try {
      await pipe(chunks, { write: show })
    } catch (error) {
      if (isHandlerError(error)) throw error
      // The result has every other error.
    }
    return result
  }

  #stop(error: unknown): void {
    if (this.interrupts.length > 0 && KernelError.is(error, 'INTERRUPTED')) return
    this.#fail(error)
    this.failure ??= KernelError.from(error)
  }

  #fail(error: unknown): void {
    this.#result = failedResult(KernelError.from(error, 'TOOL_FAILED'))
  }

  onAction(action: AgentAction): void {
    if (action.type === 'interrupt') {
      throw new KernelError('EVENT_INVALID', 'sendAction: got an interrupt action; call ctx.interrupt() instead')
    }
    if (action.type === 'transfer-to-agent' && this.#besideOpen) {
      throw new KernelError('TOOL_FAILED', 'transfer: not possible while another call of this turn awaits its result')
    }
    if (!steers(action)) this.effects.customActions.push(action)
    else if (!this.tool?.longRunning) this.effects.actions.push(action)
    // Its result comes from outside, without the action.
    else
      throw new KernelError('TOOL_FAILED', `sendAction: a long-running call cannot steer the run, got ${action.type}`)
  }
}
