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
  NO_USAGE,
  type ResumeInfo,
  type RunContext,
  type RunResult,
  type Sink,
  sinkTo,
  type ToolCall,
  textOf,
} from '@troupe/kernel'
import { messageOf, openCalls, repairHistory } from '@troupe/kernel/history'
import { cancelled, Dialogue, type Setup } from './model/dialogue.ts'
import type { Plan } from './plan.ts'
import { abortError } from './time-limit.ts'
import { type KeptTurn, type ParkedCall, runTurn, type TurnOutcome } from './tools/tool-turn.ts'
import { type Wish, weigh } from './tools/wish.ts'

/** What an interrupted loop needs beyond the history. */
export type LoopState = {
  readonly format: 1
  readonly turn: number
  readonly parked: { readonly [callId: string]: ParkedCall }
  /** What was answered so far: a call that asks twice hears its first answer again. */
  readonly answers: Answers
}

/** One run of a ChatModel agent: model, tools, and again, until somebody has the last word. */
export class Loop {
  readonly #plan: Plan
  #sink: Sink<EventDraft>
  readonly #ctx: RunContext
  readonly #stamp: EventStamp
  #dialogue: Dialogue | undefined
  #turn = 0
  #interrupts: readonly Interrupt[] = []
  /** What the run adds to the history, where a handler hears of it. */
  readonly #added: Message[] = []

  constructor(plan: Plan, ctx: RunContext, sink: Sink<EventDraft>) {
    this.#plan = plan
    this.#ctx = ctx
    this.#stamp = { runId: ctx.runId, agentName: ctx.agentName, runPath: ctx.runPath }
    this.#sink = sink
  }

  run(start: AgentInput | ResumeInfo): Promise<void> {
    const setup = this.#setUp(start)
    return this.#plan.chain.framesAgent ? this.#framed(start, setup) : this.#work(start, setup, this.#ctx)
  }

  async #framed(start: AgentInput | ResumeInfo, { config, toolbox }: Setup): Promise<void> {
    const { chain } = this.#plan
    this.#sink = this.#gathering(this.#sink)
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

  #gathering(sink: Sink<EventDraft>): Sink<EventDraft> {
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
    if (before.length > 0 || messages.at(-1)?.role === 'tool') return this.#goOn(dialogue, setup, start, before)
    dialogue.messages = repairHistory(messages)
    return this.#turns(dialogue, setup)
  }

  /** Goes on with a history that ends within a turn. */
  async #goOn(
    dialogue: Dialogue,
    setup: Setup,
    start: AgentInput | ResumeInfo,
    before: readonly ToolCall[],
  ): Promise<void> {
    const state = 'answers' in start ? loopState(start.state) : undefined
    const open = before.filter(({ id, name }) => state?.parked[id] ?? setup.toolbox.get(name)?.tool.longRunning)
    const awaiting = open.length > 0 ? { awaiting: open.map(({ id }) => id) } : undefined
    dialogue.messages = repairHistory(dialogue.messages, awaiting)
    if (before.length > open.length) await this.#tellLost(dialogue.messages, before)
    if (state && 'answers' in start && before.length > 0) return this.#continue(dialogue, setup, state, start, open)
    if (open.length > 0) return
    if (await this.#endKept(dialogue)) return
    await this.#turns(dialogue, setup)
  }

  /** A call at the end of the history whose result got lost is open for nobody else either, so its neutral answer is told. */
  async #tellLost(messages: readonly Message[], calls: readonly ToolCall[]): Promise<void> {
    for (const { id: callId, name } of calls) {
      const lost = messages.findLast((message) => message.role === 'tool' && message.callId === callId)
      if (!lost) continue
      const { id: messageId, content } = lost
      await this.#sink.write({ type: 'tool-end', callId, messageId, name, status: 'failed', content })
    }
  }

  /** What stood beside open calls is done when their results have come. */
  async #endKept(dialogue: Dialogue): Promise<boolean> {
    const { messages } = dialogue
    if (messages.at(-1)?.role !== 'tool') return false
    const last = messages.findLast(({ role }) => role === 'assistant') as AssistantMessage | undefined
    return this.#decide(dialogue, last?.toolCalls ?? [])
  }

  /** Does what the calls of a turn ask for; tells whether that was the last of the run. */
  async #decide(dialogue: Dialogue, calls: readonly ToolCall[], wishes?: ReadonlyMap<string, Wish>): Promise<boolean> {
    const { action, direct } = weigh(calls, dialogue.messages, this.#ctx.agentName, wishes)
    if (action) await this.#sink.write({ type: 'action', action })
    else if (direct) dialogue.text = textOf(direct.content)
    return action !== undefined || direct !== undefined
  }

  /** What this run begins with, for `beforeAgent` to change. */
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

  async #continue(
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
    const kept = { ...state, skip, besideOpen, answers: { ...state.answers, ...answers } }
    if (await this.#answerCalls(dialogue, setup, last.toolCalls ?? [], kept)) return
    this.#turn++
    await this.#turns(dialogue, setup)
  }

  /** Runs the calls of a message; tells whether that was the last of the run. */
  async #answerCalls(
    dialogue: Dialogue,
    { config, toolbox }: Setup,
    calls: readonly ToolCall[],
    kept?: KeptTurn,
  ): Promise<boolean> {
    const { chain, validator, concurrency } = this.#plan
    if (dialogue.ctx.cancelling === 'after-model')
      await this.#refuse(
        dialogue.ctx,
        calls.filter(({ id }) => !kept?.skip.has(id)),
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
      kept,
    })
    dialogue.messages = dialogue.messages.concat(outcome.results)
    const settled = !kept && outcome.results.length === calls.length
    const awaiting = settled ? NONE : openCalls(dialogue.messages).map(({ id }) => id)
    // Those that were answered before the interrupt may stand out of order.
    if (kept) dialogue.messages = repairHistory(dialogue.messages, { awaiting })
    if (outcome.failure) throw outcome.failure
    for (const action of outcome.customs) await this.#sink.write({ type: 'action', action })
    if (outcome.interrupts.length > 0) {
      await this.#interrupt(outcome, kept?.answers ?? {})
      return true
    }
    if (awaiting.length > 0) return true
    if (!kept && !outcome.wishes) return false
    return this.#decide(dialogue, calls, outcome.wishes)
  }

  async #interrupt({ interrupts, parked }: TurnOutcome, answers: Answers): Promise<void> {
    this.#interrupts = interrupts
    const state: LoopState = { format: 1, turn: this.#turn, parked, answers }
    await this.#sink.write({ type: 'action', action: { type: 'interrupt', interrupts, state } })
  }

  /** A soft cancel after the model: its calls are answered, so that the history can be used, and not run. */
  async #refuse(ctx: RunContext, calls: readonly ToolCall[]): Promise<never> {
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

/** Contract: what is not the state of a loop (an interrupt raised by a hook has none) means to begin anew. */
function loopState(state: Json): LoopState | undefined {
  const found = state as Partial<LoopState> | null
  return typeof found === 'object' && found?.format === 1 ? (found as LoopState) : undefined
}
