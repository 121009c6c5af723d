import {
  type AgentConfig,
  type AgentInput,
  type Answers,
  type AssistantMessage,
  type EventDraft,
  type EventStamp,
  type Interrupt,
  type Json,
  type Message,
  type ResumeInfo,
  type RunContext,
  type Sink,
  type ToolCall,
  textOf,
} from '@troupe/kernel'
import { openCalls, repairHistory } from '@troupe/kernel/history'
import { cancelled, Dialogue } from './dialogue.ts'
import type { Plan } from './plan.ts'
import { decideTurn, type KeptAction } from './tools/kept-action.ts'
import { runTurn } from './tools/run-turn.ts'
import type { InterruptedTurn } from './tools/turn-input.ts'

/** The state of an interrupted loop, beyond its history. */
type InterruptedLoop = Pick<InterruptedTurn, 'parked' | 'answers'> & {
  readonly format: 1
  readonly turn: number
}

/** One run of a ChatModel agent: calls the model and its tools in turns until the run ends. */
export class Loop {
  readonly #plan: Plan
  readonly #config: AgentConfig
  readonly #stamp: EventStamp
  readonly #sink: Sink<EventDraft>
  readonly dialogue: Dialogue
  #turn = 0
  /** The questions that ended the run. */
  interrupts: readonly Interrupt[] = []

  /** Contract: `stamp` is the agent's own, whatever its hooks made of the context. */
  constructor(plan: Plan, config: AgentConfig, ctx: RunContext, stamp: EventStamp, sink: Sink<EventDraft>) {
    this.#plan = plan
    this.#config = config
    this.#stamp = stamp
    this.#sink = sink
    this.dialogue = new Dialogue(plan, config, ctx, stamp, sink)
  }

  run(start: AgentInput | ResumeInfo): Promise<void> {
    const { messages } = this.dialogue
    const before = openCalls(messages)
    if (before.length > 0 || messages.at(-1)?.role === 'tool') return this.#continueTurn(start, before)
    this.dialogue.messages = repairHistory(messages)
    return this.#turns()
  }

  async #turns(): Promise<void> {
    for (;;) {
      const message = await this.dialogue.ask(this.#turn)
      if (message && !message.toolCalls?.length) return
      if (message?.toolCalls && (await this.#answerCalls(message.toolCalls))) return
      this.#turn++
    }
  }

  /** Continues a history that ends within a turn. */
  async #continueTurn(start: AgentInput | ResumeInfo, before: readonly ToolCall[]): Promise<void> {
    const { dialogue } = this
    const state = 'answers' in start ? interruptedLoop(start.state) : undefined
    const { toolbox } = this.#plan
    const open = before.filter(({ id, name }) => state?.parked[id] ?? toolbox.get(name)?.tool.longRunning)
    const awaiting = open.length > 0 ? { awaiting: open.map(({ id }) => id) } : undefined
    dialogue.messages = repairHistory(dialogue.messages, awaiting)
    if (before.length > open.length) await this.#writeLostResults(dialogue.messages, before)
    if (state && 'answers' in start && before.length > 0) return this.#resumeTurn(state, start.answers, open)
    if (open.length > 0) return
    if (await this.#applyKeptActions()) return
    await this.#turns()
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
  async #applyKeptActions(): Promise<boolean> {
    const { messages } = this.dialogue
    if (messages.at(-1)?.role !== 'tool') return false
    const last = messages.findLast(({ role }) => role === 'assistant') as AssistantMessage | undefined
    return this.#decide(last?.toolCalls ?? [])
  }

  async #resumeTurn(state: InterruptedLoop, answers: Answers, open: readonly ToolCall[]): Promise<void> {
    this.#turn = state.turn
    const last = this.dialogue.messages.findLast(({ role }) => role === 'assistant') as AssistantMessage
    const again = new Set(open.map(({ id }) => id).filter((id) => id in state.parked))
    const skip = new Set((last.toolCalls ?? []).map(({ id }) => id).filter((id) => !again.has(id)))
    const besideOpen = open.length > again.size
    // All answers so far: a call that asks twice runs again and gets its first answer again.
    const interrupted = { ...state, skip, besideOpen, answers: { ...state.answers, ...answers } }
    if (await this.#answerCalls(last.toolCalls ?? [], interrupted)) return
    this.#turn++
    await this.#turns()
  }

  /** Runs the calls of a message. Contract: resolves to whether the run ends with them. */
  async #answerCalls(calls: readonly ToolCall[], interrupted?: InterruptedTurn): Promise<boolean> {
    const { dialogue } = this
    const { ctx } = dialogue
    const { toolbox, invokeTool, streamTool, validator, concurrency } = this.#plan
    if (ctx.cancelling === 'after-model') await this.#cancelCalls(ctx, calls, interrupted?.skip)
    const outcome = await runTurn({
      ctx,
      stamp: this.#stamp,
      sink: this.#sink,
      turn: this.#turn,
      calls,
      toolbox,
      invokeTool,
      streamTool,
      validator,
      journal: dialogue.journal,
      concurrency,
      callOptions: this.#config.runOptions.tools,
      interrupted,
    })
    const { results, interrupts, parked, keptActions } = outcome
    dialogue.messages = dialogue.messages.concat(results)
    if (interrupted) {
      // Results from before the interrupt may be out of order.
      const awaiting = openCalls(dialogue.messages).map(({ id }) => id)
      dialogue.messages = repairHistory(dialogue.messages, { awaiting })
    }
    if (outcome.failure) throw outcome.failure
    for (const action of outcome.customActions) await this.#sink.write({ type: 'action', action })
    if (interrupts.length > 0) {
      this.interrupts = interrupts
      const state: InterruptedLoop = { format: 1, turn: this.#turn, parked, answers: interrupted?.answers ?? {} }
      await this.#sink.write({ type: 'action', action: { type: 'interrupt', interrupts, state } })
      return true
    }
    if (outcome.open) return true
    return interrupted || keptActions ? this.#decide(calls, keptActions) : false
  }

  /** Carries out what the calls of a turn ask for. Contract: resolves to whether the run ends with it. */
  async #decide(calls: readonly ToolCall[], keptActions?: ReadonlyMap<string, KeptAction>): Promise<boolean> {
    const { action, direct } = decideTurn(calls, this.dialogue.messages, this.#stamp.agentName, keptActions)
    if (action) await this.#sink.write({ type: 'action', action })
    else if (direct) this.dialogue.text = textOf(direct.content)
    return action !== undefined || direct !== undefined
  }

  /** Answers the calls of a run that was cancelled after the model without running them, so that the history stays usable. */
  async #cancelCalls(ctx: RunContext, calls: readonly ToolCall[], skip?: ReadonlySet<string>): Promise<never> {
    const error = cancelled(ctx)
    const content = 'The call was cancelled before it started.'
    for (const { id: callId, name } of calls) {
      if (skip?.has(callId)) continue
      const end = { callId, messageId: ctx.ids.next(), name, status: 'failed', content, error: error.toJSON() } as const
      await this.#sink.write({ type: 'tool-end', ...end })
    }
    throw error
  }
}

/** Reads the state of a loop. Contract: undefined for any other state (a hook may interrupt the run): the run begins anew. */
function interruptedLoop(state: Json): InterruptedLoop | undefined {
  const found = state as Partial<InterruptedLoop> | null
  return typeof found === 'object' && found?.format === 1 ? (found as InterruptedLoop) : undefined
}
