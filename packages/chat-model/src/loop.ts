import {
  type AgentConfig,
  type AgentInput,
  type Answers,
  type AssistantMessage,
  type EventDraft,
  type EventStamp,
  type Interrupt,
  type Json,
  KernelError,
  type Message,
  type ResumeInfo,
  type RunContext,
  type RunResult,
  type Sink,
  type ToolCall,
  textOf,
} from '@troupe/kernel'
import { messageOf, openCalls, repairHistory } from '@troupe/kernel/history'
import { NO_USAGE, sinkTo } from '@troupe/kernel/kit'
import { cancelled, Dialogue, type Setup } from './model/dialogue.ts'
import type { Plan } from './plan.ts'
import { abortError } from './time-limit.ts'
import { decideTurn, type KeptAction } from './tools/kept-action.ts'
import { type InterruptedTurn, type ParkedCall, runTurn, type TurnOutcome } from './tools/tool-turn.ts'

/** The state of an interrupted loop, beyond its history. */
export type LoopState = {
  readonly format: 1
  readonly turn: number
  readonly parked: { readonly [callId: string]: ParkedCall }
  /** All answers so far: a call that asks twice runs again and gets its first answer again. */
  readonly answers: Answers
}

/** One run of a ChatModel agent: calls the model and its tools in turns until the run ends. */
export class Loop {
  readonly #plan: Plan
  #sink: Sink<EventDraft>
  readonly #ctx: RunContext
  readonly #stamp: EventStamp
  #dialogue: Dialogue | undefined
  #turn = 0
  #interrupts: readonly Interrupt[] = []
  /** The messages that the run adds, for `afterAgent`; collected only if the agent has such hooks. */
  readonly #added: Message[] = []

  constructor(plan: Plan, ctx: RunContext, sink: Sink<EventDraft>) {
    this.#plan = plan
    this.#ctx = ctx
    this.#stamp = { runId: ctx.runId, agentName: ctx.agentName, runPath: ctx.runPath }
    this.#sink = sink
  }

  run(start: AgentInput | ResumeInfo): Promise<void> {
    const setup = this.#setUp(start)
    return this.#plan.chain.hasAgentHooks ? this.#withAgentHooks(start, setup) : this.#work(start, setup, this.#ctx)
  }

  async #withAgentHooks(start: AgentInput | ResumeInfo, { config, toolbox }: Setup): Promise<void> {
    const { chain } = this.#plan
    this.#sink = this.#collecting(this.#sink)
    let reached = 0
    let ctx = this.#ctx
    let thrown: { readonly error: unknown } | undefined
    try {
      const prepared = await chain.beforeAgent(this.#ctx, config, (handlers, current) => {
        reached = handlers
        ctx = current
      })
      await this.#work(start, { config, toolbox: toolbox.holding(config.tools) }, prepared)
    } catch (error) {
      thrown = { error }
    }
    try {
      await chain.afterAgent(this.#dialogue?.ctx ?? ctx, this.#result(thrown?.error), reached)
    } catch (error) {
      thrown ??= { error }
    }
    if (thrown) throw thrown.error
  }

  #collecting(sink: Sink<EventDraft>): Sink<EventDraft> {
    return sinkTo(sink, (draft: EventDraft) => {
      const message = messageOf({ ...this.#stamp, ...draft })
      if (message) this.#added.push(message)
      return sink.write(draft)
    })
  }

  #work(start: AgentInput | ResumeInfo, setup: Setup, ctx: RunContext): Promise<void> {
    const dialogue = new Dialogue(this.#plan, setup, ctx, this.#stamp, this.#sink)
    this.#dialogue = dialogue
    const { messages } = dialogue
    const before = openCalls(messages)
    if (before.length > 0 || messages.at(-1)?.role === 'tool') return this.#continueTurn(dialogue, setup, start, before)
    dialogue.messages = repairHistory(messages)
    return this.#turns(dialogue, setup)
  }

  /** Continues a history that ends within a turn. */
  async #continueTurn(
    dialogue: Dialogue,
    setup: Setup,
    start: AgentInput | ResumeInfo,
    before: readonly ToolCall[],
  ): Promise<void> {
    const state = 'answers' in start ? loopState(start.state) : undefined
    const open = before.filter(({ id, name }) => state?.parked[id] ?? setup.toolbox.get(name)?.tool.longRunning)
    const awaiting = open.length > 0 ? { awaiting: open.map(({ id }) => id) } : undefined
    dialogue.messages = repairHistory(dialogue.messages, awaiting)
    if (before.length > open.length) await this.#writeLostResults(dialogue.messages, before)
    if (state && 'answers' in start && before.length > 0) return this.#resumeTurn(dialogue, setup, state, start, open)
    if (open.length > 0) return
    if (await this.#applyKeptActions(dialogue)) return
    await this.#turns(dialogue, setup)
  }

  /** Writes the neutral result of each lost call at the end of the history, so that readers of the events do not wait for it. */
  async #writeLostResults(messages: readonly Message[], calls: readonly ToolCall[]): Promise<void> {
    for (const { id: callId, name } of calls) {
      const lost = messages.findLast((message) => message.role === 'tool' && message.callId === callId)
      if (!lost) continue
      const { id: messageId, content } = lost
      await this.#sink.write({ type: 'tool-end', callId, messageId, name, status: 'failed', content })
    }
  }

  /** Carries out the actions that were kept until the calls beside them had results. */
  async #applyKeptActions(dialogue: Dialogue): Promise<boolean> {
    const { messages } = dialogue
    if (messages.at(-1)?.role !== 'tool') return false
    const last = messages.findLast(({ role }) => role === 'assistant') as AssistantMessage | undefined
    return this.#decide(dialogue, last?.toolCalls ?? [])
  }

  /** Carries out what the calls of a turn ask for. Contract: resolves to whether the run ends with it. */
  async #decide(
    dialogue: Dialogue,
    calls: readonly ToolCall[],
    keptActions?: ReadonlyMap<string, KeptAction>,
  ): Promise<boolean> {
    const { action, direct } = decideTurn(calls, dialogue.messages, this.#ctx.agentName, keptActions)
    if (action) await this.#sink.write({ type: 'action', action })
    else if (direct) dialogue.text = textOf(direct.content)
    return action !== undefined || direct !== undefined
  }

  /** Makes the configuration that the run begins with; `beforeAgent` may change it. */
  #setUp({ messages, additions, options = {} }: AgentInput): Setup {
    const { instruction } = this.#plan
    const toolbox = additions?.tools ? this.#plan.toolbox.with(additions.tools) : this.#plan.toolbox
    const added = additions?.instruction ?? ''
    const config: AgentConfig = {
      instruction: instruction !== '' && added !== '' ? `${instruction}\n\n${added}` : instruction + added,
      tools: toolbox.metas.slice(),
      input: { messages },
      runOptions: { ...options },
    }
    return { config, toolbox }
  }

  async #turns(dialogue: Dialogue, setup: Setup): Promise<void> {
    for (;;) {
      const message = await dialogue.ask(this.#turn)
      if (message && !message.toolCalls?.length) return
      if (message?.toolCalls && (await this.#answerCalls(dialogue, setup, message.toolCalls))) return
      this.#turn++
    }
  }

  async #resumeTurn(
    dialogue: Dialogue,
    setup: Setup,
    state: LoopState,
    { answers }: ResumeInfo,
    open: readonly ToolCall[],
  ): Promise<void> {
    this.#turn = state.turn
    const last = dialogue.messages.findLast(({ role }) => role === 'assistant') as AssistantMessage
    const again = new Set(open.map(({ id }) => id).filter((id) => id in state.parked))
    const skip = new Set((last.toolCalls ?? []).map(({ id }) => id).filter((id) => !again.has(id)))
    const besideOpen = open.length > again.size
    const interrupted = { ...state, skip, besideOpen, answers: { ...state.answers, ...answers } }
    if (await this.#answerCalls(dialogue, setup, last.toolCalls ?? [], interrupted)) return
    this.#turn++
    await this.#turns(dialogue, setup)
  }

  /** Runs the calls of a message. Contract: resolves to whether the run ends with them. */
  async #answerCalls(
    dialogue: Dialogue,
    { config, toolbox }: Setup,
    calls: readonly ToolCall[],
    interrupted?: InterruptedTurn,
  ): Promise<boolean> {
    const { chain, validator, concurrency } = this.#plan
    if (dialogue.ctx.cancelling === 'after-model')
      await this.#cancelCalls(
        dialogue.ctx,
        calls.filter(({ id }) => !interrupted?.skip.has(id)),
      )
    const outcome = await runTurn({
      ctx: dialogue.ctx,
      stamp: this.#stamp,
      sink: this.#sink,
      turn: this.#turn,
      calls,
      toolbox,
      chain,
      validator,
      concurrency,
      callOptions: config.runOptions.tools,
      interrupted,
    })
    dialogue.messages = dialogue.messages.concat(outcome.results)
    const settled = !interrupted && outcome.results.length === calls.length
    const awaiting = settled ? NONE : openCalls(dialogue.messages).map(({ id }) => id)
    // Results from before the interrupt may be out of order.
    if (interrupted) dialogue.messages = repairHistory(dialogue.messages, { awaiting })
    if (outcome.failure) throw outcome.failure
    for (const action of outcome.customActions) await this.#sink.write({ type: 'action', action })
    if (outcome.interrupts.length > 0) {
      await this.#interrupt(outcome, interrupted?.answers ?? {})
      return true
    }
    if (awaiting.length > 0) return true
    if (!interrupted && !outcome.keptActions) return false
    return this.#decide(dialogue, calls, outcome.keptActions)
  }

  async #interrupt({ interrupts, parked }: TurnOutcome, answers: Answers): Promise<void> {
    this.#interrupts = interrupts
    const state: LoopState = { format: 1, turn: this.#turn, parked, answers }
    await this.#sink.write({ type: 'action', action: { type: 'interrupt', interrupts, state } })
  }

  /** Answers the calls of a run that was cancelled after the model without running them, so that the history stays usable. */
  async #cancelCalls(ctx: RunContext, calls: readonly ToolCall[]): Promise<never> {
    const error = cancelled(ctx)
    for (const { id: callId, name } of calls) {
      const messageId = ctx.ids.next()
      const content = 'The call was cancelled before it started.'
      await this.#sink.write({
        type: 'tool-end',
        callId,
        messageId,
        name,
        status: 'failed',
        content,
        error: error.toJSON(),
      })
    }
    throw error
  }

  #result(thrown: unknown): RunResult<Json> {
    const { text = '', usage = NO_USAGE, messages: history = [] } = this.#dialogue ?? {}
    const result = { text, usage, messages: this.#added }
    if (thrown !== undefined) {
      const error = this.#ctx.signal.aborted ? abortError(this.#ctx.signal.reason) : KernelError.from(thrown)
      return { ...result, outcome: error.code === 'ABORTED' ? 'cancelled' : 'failed', error: error.toJSON() }
    }
    if (this.#interrupts.length > 0) return { ...result, outcome: 'interrupted', interrupts: this.#interrupts }
    const open = openCalls(history).map(({ id }) => id)
    return { ...result, outcome: 'complete', ...(open.length > 0 && { openCallIds: open }) }
  }
}

const NONE: readonly string[] = []

/** Reads the state of a loop. Contract: undefined for any other state (a hook may interrupt the run): the run begins anew. */
function loopState(state: Json): LoopState | undefined {
  const found = state as Partial<LoopState> | null
  return typeof found === 'object' && found?.format === 1 ? (found as LoopState) : undefined
}
