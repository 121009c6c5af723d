import {
  type AgentConfig,
  type AgentInput,
  type Answers,
  type AssistantMessage,
  addUsage,
  type EventDraft,
  type Interrupt,
  type Json,
  KernelError,
  type Message,
  type ModelRequest,
  pipe,
  type ResumeInfo,
  type RunContext,
  type RunResult,
  type Sink,
  type ToolCall,
  textOf,
  type Usage,
} from '@troupe/kernel'
import { openCalls, repairHistory } from '@troupe/kernel/history'
import { openSpan } from '@troupe/kernel/run'
import { Answer, type Finish } from './answer.ts'
import { tellMessage } from './message-end.ts'
import type { Plan } from './plan.ts'
import { type ParkedCall, runTurn, steering, type TurnOutcome } from './tool-turn.ts'
import type { Toolbox } from './toolbox.ts'

/** What an interrupted loop needs beyond the history. */
export type LoopState = {
  readonly format: 1
  readonly turn: number
  readonly parked: { readonly [callId: string]: ParkedCall }
  /** What was answered so far: a call that asks twice hears its first answer again. */
  readonly answers: Answers
  /** What was outranked by the interrupt and is applied on continuation. */
  readonly actions: TurnOutcome['actions']
  readonly direct: boolean
}

const NO_TOKENS: Usage = { inputTokens: 0, outputTokens: 0 }

/** One run of a ChatModel agent: model, tools, and again, until somebody has the last word. */
export class Loop {
  readonly #plan: Plan
  readonly #sink: Sink<EventDraft>
  #ctx: RunContext
  #config: AgentConfig
  #toolbox: Toolbox
  #messages: readonly Message[] = []
  #turn = 0
  #calls = 0
  #corrections = 0
  #usage = NO_TOKENS
  #text = ''
  #interrupts: readonly Interrupt[] = []
  #callIds: Set<string> | undefined

  constructor(plan: Plan, ctx: RunContext, sink: Sink<EventDraft>) {
    this.#plan = plan
    this.#ctx = ctx
    this.#sink = sink
    this.#toolbox = plan.toolbox
    this.#config = { instruction: plan.instruction, tools: [], input: { messages: [] }, runOptions: {} }
  }

  async run(start: AgentInput | ResumeInfo): Promise<void> {
    const { chain } = this.#plan
    if (!chain.framesAgent) return this.#work(start)
    let reached = 0
    let thrown: { readonly error: unknown } | undefined
    try {
      await this.#work(start, (handlers) => {
        reached = handlers
      })
    } catch (error) {
      thrown = { error }
    }
    try {
      await chain.afterAgent(this.#ctx, this.#result(thrown?.error), reached)
    } catch (error) {
      thrown ??= { error }
    }
    if (thrown) throw thrown.error
  }

  async #work(start: AgentInput | ResumeInfo, reached?: (handlers: number) => void): Promise<void> {
    this.#configure(start)
    if (reached) this.#ctx = await this.#plan.chain.beforeAgent(this.#ctx, this.#config, reached)
    this.#toolbox = this.#toolbox.holding(this.#config.tools)
    const { messages } = this.#config.input
    const state = 'answers' in start ? loopState(start.state) : undefined
    const open = openCalls(messages)
    if (open.length > 0 && (state || open.every(({ name }) => this.#toolbox.get(name)?.tool.longRunning))) {
      this.#messages = messages
      if (state && 'answers' in start) return this.#continue(state, start, open)
      return
    }
    this.#messages = repairHistory(messages)
    if (await this.#exitKept()) return
    await this.#turns()
  }

  /** An exit that stood beside open calls is applied when their results have come. */
  async #exitKept(): Promise<boolean> {
    const { exit } = this.#plan
    if (exit === undefined || this.#messages.at(-1)?.role !== 'tool') return false
    const last = this.#messages.findLast(({ role }) => role === 'assistant') as AssistantMessage | undefined
    const call = last?.toolCalls?.find(({ name }) => name === exit)
    const result = this.#messages.findLast((message) => message.role === 'tool' && message.callId === call?.id)
    if (result?.role !== 'tool' || result.error) return false
    this.#text = textOf(result.content)
    await this.#sink.write({ type: 'action', action: { type: 'exit', result: this.#text } })
    return true
  }

  /** The configuration of this run, for `beforeAgent` to change. */
  #configure({ messages, additions, options = {} }: AgentInput): void {
    const { instruction, toolbox } = this.#plan
    const tools = toolbox.metas.slice()
    for (const meta of additions?.tools ?? []) {
      if (!tools.some(({ tool }) => tool.name === meta.tool.name)) tools.push(meta)
    }
    const added = additions?.instruction ?? ''
    this.#config = {
      instruction: instruction !== '' && added !== '' ? `${instruction}\n\n${added}` : instruction + added,
      tools,
      input: { messages },
      runOptions: options,
    }
  }

  async #turns(): Promise<void> {
    for (;;) {
      const message = await this.#ask()
      if (!message?.toolCalls?.length) {
        if (message === undefined) continue
        return
      }
      if (await this.#answerCalls(message.toolCalls)) return
      this.#turn++
    }
  }

  /** One model call; gives the message that decides what happens next, or nothing if the model must try again. */
  async #ask(): Promise<AssistantMessage | undefined> {
    const { chain, output } = this.#plan
    this.#checkCancelled()
    const limit = this.#config.runOptions.maxIterations ?? this.#plan.maxIterations
    if (this.#calls++ >= limit) {
      throw new KernelError('MAX_ITERATIONS', `agent ${this.#ctx.agentName}: made ${limit} model calls without an end`)
    }
    if (chain.rewrites('beforeModelRewriteHistory')) {
      await this.#rewrite('beforeModelRewriteHistory')
      this.#messages = repairHistory(this.#messages)
    }
    const before = this.#messages
    const answer = await this.#call(before)
    const streamed = answer.message()
    const { reason, usage } = answer.finish
    this.#usage = addUsage(this.#usage, usage)
    this.#messages = before.concat([streamed])
    if (chain.rewrites('afterModelRewriteHistory')) {
      try {
        await this.#rewrite('afterModelRewriteHistory')
      } catch (error) {
        await this.#drop(answer)
        throw error
      }
      this.#renameCalls(streamed)
    }
    const last = this.#messages.at(-1)
    const final = last?.role === 'assistant' && !last.toolCalls?.length ? last : undefined
    const verdict = final && output ? await output.judge(textOf(final.content)) : undefined
    const ending = { usage, finishReason: reason, ...(verdict && 'value' in verdict && { output: verdict.value }) }
    if (last === streamed) {
      const wait = this.#sink.write({ type: 'message-end', message: streamed, ...ending })
      if (wait) await wait
    } else await tellMessage(this.#sink, this.#ctx, streamed, before, this.#messages, ending)
    if (final) this.#text = textOf(final.content)
    if (!verdict || 'value' in verdict) return last?.role === 'assistant' ? last : streamed
    this.#correct(verdict.complaint)
    return undefined
  }

  async #rewrite(hook: 'beforeModelRewriteHistory' | 'afterModelRewriteHistory'): Promise<void> {
    const { ctx, messages } = await this.#plan.chain.rewrite(hook, { ctx: this.#ctx, messages: this.#messages })
    this.#ctx = ctx
    this.#messages = messages
  }

  /** Contract: call ids are unique in the thread, also of calls that a handler adds. */
  #renameCalls(streamed: AssistantMessage): void {
    const last = this.#messages.at(-1)
    if (last === streamed || last?.role !== 'assistant' || !last.toolCalls) return
    const own = new Set(streamed.toolCalls?.map(({ id }) => id))
    const toolCalls = last.toolCalls.map((call) =>
      own.delete(call.id) ? call : { ...call, id: this.#unique(call.id) },
    )
    if (toolCalls.some(({ id }, i) => id !== last.toolCalls?.[i]?.id)) {
      this.#messages = this.#messages.with(-1, { ...last, toolCalls })
    }
  }

  async #call(messages: readonly Message[]): Promise<Answer & { readonly finish: Finish }> {
    const { chain, model, modelOptions } = this.#plan
    const position = `model:${this.#calls - 1}`
    const step = this.#ctx.step === '' ? position : `${this.#ctx.step}/${position}`
    const { model: options } = this.#config.runOptions
    const request: ModelRequest = {
      instruction: this.#config.instruction,
      messages,
      tools: this.#toolbox.specs,
      options: options ? { ...modelOptions, ...options } : modelOptions,
      step,
      idempotencyKey: `${this.#ctx.runId}/${step}`,
    }
    const span = openSpan(this.#ctx, 'model', model.name, request)
    const answer = new Answer(this.#ctx, this.#sink, (callId) => this.#unique(callId))
    try {
      await pipe(chain.callModel(this.#ctx, request), answer)
      const wait = answer.begin()
      if (wait) await wait
      if (!isFinished(answer))
        throw new KernelError('MODEL_FAILED', `model ${model.name}: a handler took its finish away`)
      const { reason: finishReason, usage, model: name } = answer.finish
      span?.end({ message: answer.message(), usage, finishReason, model: name || model.name })
      return answer
    } catch (error) {
      span?.fail(error)
      if (answer.begun) await this.#drop(answer)
      throw error
    }
  }

  /** Closes what a failed call has shown; it is in no history. */
  async #drop(answer: Answer): Promise<void> {
    try {
      await this.#sink.write({ type: 'message-end', message: answer.message(), dropped: true })
    } catch {
      // Nobody reads any more; the call's own error is what counts.
    }
  }

  async #continue(state: LoopState, { answers }: ResumeInfo, open: readonly ToolCall[]): Promise<void> {
    this.#turn = state.turn
    const last = this.#messages.findLast(({ role }) => role === 'assistant') as AssistantMessage
    const again = new Set(open.map(({ id }) => id).filter((id) => id in state.parked))
    const skip = new Set((last.toolCalls ?? []).map(({ id }) => id).filter((id) => !again.has(id)))
    const kept = { ...state, skip, answers: { ...state.answers, ...answers } }
    if (await this.#answerCalls(last.toolCalls ?? [], kept)) return
    this.#turn++
    await this.#turns()
  }

  /** Runs the calls of a message; tells whether that was the last of the run. */
  async #answerCalls(
    calls: readonly ToolCall[],
    kept?: LoopState & { readonly skip: ReadonlySet<string> },
  ): Promise<boolean> {
    const { chain, validator, concurrency } = this.#plan
    if (this.#ctx.cancelling === 'after-model') await this.#refuse(calls)
    const { skip, answers, parked } = kept ?? {}
    const outcome = await runTurn({
      ctx: this.#ctx,
      sink: this.#sink,
      turn: this.#turn,
      calls,
      toolbox: this.#toolbox,
      chain,
      validator,
      concurrency,
      callOptions: this.#config.runOptions.tools,
      ...(skip && { skip }),
      ...(answers && { answers }),
      ...(parked && { parked }),
    })
    this.#messages = this.#messages.concat(outcome.results)
    // Those that were answered before the interrupt may stand out of order.
    if (kept)
      this.#messages = repairHistory(this.#messages, { awaiting: openCalls(this.#messages).map(({ id }) => id) })
    if (outcome.failure) throw outcome.failure
    const actions = [...(kept?.actions ?? []), ...outcome.actions]
    const direct = outcome.direct || (kept?.direct ?? false)
    if (outcome.interrupts.length > 0) {
      this.#interrupts = outcome.interrupts
      const state: LoopState = {
        format: 1,
        turn: this.#turn,
        parked: outcome.parked,
        answers: answers ?? {},
        actions,
        direct,
      }
      await this.#sink.write({ type: 'action', action: { type: 'interrupt', interrupts: outcome.interrupts, state } })
      return true
    }
    for (const action of actions) if (action.type === 'custom') await this.#sink.write({ type: 'action', action })
    if (openCalls(this.#messages).length > 0) return true
    const action = steering(actions)
    if (action) await this.#sink.write({ type: 'action', action })
    if (direct && !action) this.#text = textOf(this.#messages.at(-1)?.content ?? '')
    return action !== undefined || direct
  }

  /** A soft cancel after the model: its calls are answered, so that the history can be used, and not run. */
  async #refuse(calls: readonly ToolCall[]): Promise<never> {
    const error = cancelled(this.#ctx)
    for (const { id: callId, name } of calls) {
      const messageId = this.#ctx.ids.next()
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

  #correct(complaint: string): void {
    const { output } = this.#plan
    if (output && this.#corrections++ >= output.corrections) {
      throw new KernelError('VALIDATION_FAILED', `agent ${this.#ctx.agentName}: ${complaint}`)
    }
    const content = `${complaint}\nAnswer again, with JSON that fits the schema and nothing else.`
    this.#messages = this.#messages.concat([{ id: this.#ctx.ids.next(), role: 'user', content }])
    this.#turn++
  }

  #checkCancelled(): void {
    if (this.#ctx.cancelling) throw cancelled(this.#ctx)
  }

  /** Contract: a provider's call id is kept if unique in the thread, otherwise replaced. */
  #unique(callId: string): string {
    if (!this.#callIds) {
      this.#callIds = new Set()
      for (const message of this.#messages) {
        if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) this.#callIds.add(id)
      }
    }
    const id = callId === '' || this.#callIds.has(callId) ? this.#ctx.ids.next() : callId
    this.#callIds.add(id)
    return id
  }

  #result(thrown: unknown): RunResult<Json> {
    const base = { text: this.#text, usage: this.#usage }
    if (thrown !== undefined) {
      const error = KernelError.from(thrown)
      const stopped = error.code === 'ABORTED' || this.#ctx.signal.aborted
      return { ...base, outcome: stopped ? 'cancelled' : 'failed', error: error.toJSON() }
    }
    if (this.#interrupts.length > 0) return { ...base, outcome: 'interrupted', interrupts: this.#interrupts }
    const open = openCalls(this.#messages).map(({ id }) => id)
    return { ...base, outcome: 'complete', ...(open.length > 0 && { openCallIds: open }) }
  }
}

function isFinished(answer: Answer): answer is Answer & { readonly finish: Finish } {
  return answer.finish !== undefined
}

function cancelled(ctx: RunContext): KernelError {
  return new KernelError('ABORTED', `agent ${ctx.agentName}: asked to stop ${ctx.cancelling}`)
}

/** Contract: what is not the state of a loop (an interrupt raised by a hook has none) means to begin anew. */
function loopState(state: Json): LoopState | undefined {
  const found = state as Partial<LoopState> | null
  return typeof found === 'object' && found?.format === 1 ? (found as LoopState) : undefined
}
