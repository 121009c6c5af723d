import type {
  AgentAction,
  AgentConfig,
  Answers,
  AssistantMessage,
  EventDraft,
  EventStamp,
  Interrupt,
  Message,
  RunContext,
  Sink,
  ToolCall,
} from '@troupe/kernel'
import { openCalls, repairHistory } from '@troupe/kernel/history'
import { cancelled, Dialogue } from './dialogue.ts'
import type { HookQuestions } from './handlers/hook-questions.ts'
import type { LoopState, RunEnd } from './loop-state.ts'
import type { Plan } from './plan.ts'
import { decideTurn, type KeptAction } from './tools/kept-action.ts'
import { runTurn } from './tools/run-turn.ts'
import type { InterruptedTurn } from './tools/turn-input.ts'

/** The parts of a `Loop`. */
export interface LoopParts {
  readonly config: AgentConfig
  readonly ctx: RunContext
  /** Contract: the agent's own, whatever its hooks made of the context. */
  readonly stamp: EventStamp
  readonly sink: Sink<EventDraft>
  /** Undefined if the agent has no handlers. */
  readonly questions: HookQuestions | undefined
  /** Where the run begins. */
  readonly from: LoopState
  /** All answers so far. */
  readonly answers: Answers
}

const NONE: readonly Interrupt[] = []

/** One run of a ChatModel agent: calls the model and its tools in turns until the run ends. */
export class Loop {
  readonly #plan: Plan
  readonly #parts: LoopParts
  readonly dialogue: Dialogue
  #turn: number
  /** The calls that asked, with the state in which they run again. */
  #parked: InterruptedTurn['parked'] | undefined
  #inTurn = false
  /** The questions of its calls. */
  interrupts: readonly Interrupt[] = NONE
  /** The action that the run ends with. */
  action: AgentAction | undefined

  constructor(plan: Plan, parts: LoopParts) {
    const { config, ctx, stamp, sink, questions, from } = parts
    this.#plan = plan
    this.#parts = parts
    this.#turn = from.turn
    this.dialogue = new Dialogue(plan, config, ctx, stamp, sink, questions, from)
  }

  run(): Promise<void> {
    const { at, end } = this.#parts.from
    if (at === 'end') {
      this.action = end?.action
      return Promise.resolve(this.#ended())
    }
    const { messages } = this.dialogue
    const before = openCalls(messages)
    if (at !== 'model' && at !== 'answer' && (before.length > 0 || messages.at(-1)?.role === 'tool')) {
      return this.#continueTurn(before)
    }
    this.dialogue.messages = repairHistory(messages)
    return this.#turns()
  }

  /** All questions of the run, of its calls and of its hooks. */
  get asked(): readonly Interrupt[] {
    const { interrupts } = this
    const asked = this.#parts.questions?.asked ?? NONE
    return interrupts.length === 0 ? asked : [...interrupts, ...asked]
  }

  /** The calls that run again besides those that ask. */
  get runAgain(): readonly string[] {
    return callsBeside(this.#parked, this.interrupts)
  }

  /** Writes what the run ends with: its questions, or its action. */
  finish(end?: RunEnd): void | Promise<void> {
    const { action } = this
    if (this.interrupts.length > 0 || this.#parts.questions?.asked.length) return this.#ask(end)
    return action && this.#parts.sink.write({ type: 'action', action })
  }

  #ask(end: RunEnd | undefined): Promise<void> {
    return writeQuestions(this.#parts, this.asked, this.#state(end), this.runAgain)
  }

  #state(end: RunEnd | undefined): LoopState {
    const { answers } = this.#parts
    const turn = this.#turn
    if (this.#parked) return { format: 2, at: 'tools', turn, ...this.dialogue.counts, answers, parked: this.#parked }
    if (this.#inTurn) return { format: 2, turn, ...this.dialogue.state, answers }
    const counts = this.dialogue.counts
    return { format: 2, at: 'end', turn, ...counts, answers, end: { text: '', ...end } }
  }

  async #turns(): Promise<void> {
    const { from } = this.#parts
    for (let again: LoopState | undefined = from; ; again = undefined) {
      this.#inTurn = true
      const message = await this.dialogue.ask(this.#turn, again)
      this.#inTurn = false
      if (message && !message.toolCalls?.length) return this.#ended()
      if (message?.toolCalls && (await this.#answerCalls(message.toolCalls))) return this.#ended()
      this.#turn++
    }
  }

  /** Contract: without handlers, which may have something to do after the run, what it ends with is written at once. */
  #ended(): void | Promise<void> {
    return this.#parts.questions ? undefined : this.finish()
  }

  /** Continues a history that ends within a turn. */
  async #continueTurn(before: readonly ToolCall[]): Promise<void> {
    const { dialogue } = this
    const { at, parked } = this.#parts.from
    const { toolbox } = this.#plan
    const open = before.filter(({ id, name }) => parked?.[id] ?? toolbox.get(name)?.tool.longRunning)
    const awaiting = open.length > 0 ? { awaiting: open.map(({ id }) => id) } : undefined
    dialogue.messages = repairHistory(dialogue.messages, awaiting)
    if (before.length > open.length) await this.#writeLostResults(dialogue.messages, before)
    if (at === 'tools' && before.length > 0) return this.#resumeTurn(parked ?? {}, open)
    if (open.length > 0) {
      this.#parked = {}
      return this.#ended()
    }
    if (this.#applyKeptActions()) return this.#ended()
    await this.#turns()
  }

  /** Writes the neutral result of each lost call at the end of the history, so that readers of the events do not wait for it. */
  async #writeLostResults(messages: readonly Message[], calls: readonly ToolCall[]): Promise<void> {
    for (const { id: callId, name } of calls) {
      const lost = messages.findLast((message) => message.role === 'tool' && message.callId === callId)
      if (!lost) continue
      const { id: messageId, content } = lost
      await this.#parts.sink.write({ type: 'tool-end', callId, messageId, name, status: 'failed', content })
    }
  }

  /** Carries out the actions that were kept until the calls beside them had results. */
  #applyKeptActions(): boolean {
    const { messages } = this.dialogue
    if (messages.at(-1)?.role !== 'tool') return false
    const last = messages.findLast(({ role }) => role === 'assistant') as AssistantMessage | undefined
    return this.#decide(last?.toolCalls ?? [])
  }

  async #resumeTurn(parked: InterruptedTurn['parked'], open: readonly ToolCall[]): Promise<void> {
    const last = this.dialogue.messages.findLast(({ role }) => role === 'assistant') as AssistantMessage
    const again = new Set(open.map(({ id }) => id).filter((id) => id in parked))
    const skip = new Set((last.toolCalls ?? []).map(({ id }) => id).filter((id) => !again.has(id)))
    const besideOpen = open.length > again.size
    const { answers } = this.#parts
    if (await this.#answerCalls(last.toolCalls ?? [], { parked, skip, besideOpen, answers })) return this.#ended()
    this.#turn++
    await this.#turns()
  }

  /** Runs the calls of a message. Contract: resolves to whether the run ends with them. */
  async #answerCalls(calls: readonly ToolCall[], interrupted?: InterruptedTurn): Promise<boolean> {
    const { dialogue } = this
    const { ctx } = dialogue
    const { config, stamp, sink } = this.#parts
    const { toolbox, invokeTool, streamTool, wrapsTools, validator, concurrency } = this.#plan
    if (ctx.cancelling === 'after-model') await this.#cancelCalls(ctx, calls, interrupted?.skip)
    const outcome = await runTurn({
      ctx,
      stamp,
      sink,
      turn: this.#turn,
      calls,
      messages: dialogue.messages,
      toolbox,
      invokeTool,
      streamTool,
      wrapsTools,
      validator,
      journal: dialogue.journal,
      concurrency,
      callOptions: config.runOptions.tools,
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
    for (const action of outcome.customActions) await sink.write({ type: 'action', action })
    if (interrupts.length > 0 || outcome.open) {
      this.interrupts = interrupts
      this.#parked = parked
      return true
    }
    return interrupted || keptActions ? this.#decide(calls, keptActions) : false
  }

  /** Decides what the calls of a turn ask for. Contract: whether the run ends with it. */
  #decide(calls: readonly ToolCall[], keptActions?: ReadonlyMap<string, KeptAction>): boolean {
    const { action, direct } = decideTurn(calls, this.dialogue.messages, this.#parts.stamp.agentName, keptActions)
    this.action = action
    return action !== undefined || direct !== undefined
  }

  /** Answers the calls of a run that was cancelled after the model without running them, so that the history stays usable. */
  async #cancelCalls(ctx: RunContext, calls: readonly ToolCall[], skip?: ReadonlySet<string>): Promise<never> {
    const error = cancelled(ctx)
    const content = 'The call was cancelled before it started.'
    for (const { id: callId, name } of calls) {
      if (skip?.has(callId)) continue
      const end = { callId, messageId: ctx.ids.next(), name, status: 'failed', content, error: error.toJSON() } as const
      await this.#parts.sink.write({ type: 'tool-end', ...end })
    }
    throw error
  }
}

/** Ends a run with its questions. Contract: a run that was asked to stop does not ask any more. */
export async function writeQuestions(
  { ctx, sink }: LoopParts,
  interrupts: readonly Interrupt[],
  state: LoopState,
  callIds: readonly string[],
): Promise<void> {
  if (ctx.cancelling) throw cancelled(ctx)
  const again = callIds.length > 0 && { callIds }
  await sink.write({ type: 'action', action: { type: 'interrupt', interrupts, state, ...again } })
}

/** The calls that run again besides those that ask. */
export function callsBeside(parked: LoopState['parked'], interrupts: readonly Interrupt[]): readonly string[] {
  const asked = new Set(interrupts.map(({ callId }) => callId))
  return Object.keys(parked ?? {}).filter((callId) => !asked.has(callId))
}

/** Whether a run stopped because a hook asks. Contract: a question counts, whatever the hook made of its rejection. */
export function isAsking(ctx: RunContext, questions: HookQuestions | undefined): boolean {
  return questions !== undefined && questions.asked.length > 0 && !ctx.signal.aborted
}
