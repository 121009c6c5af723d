import {
  type AgentConfig,
  type AssistantMessage,
  type Awaitable,
  type EventDraft,
  type EventStamp,
  JOURNAL,
  type Journal,
  KernelError,
  type Message,
  type ModelPart,
  type ModelRequest,
  type ModelResult,
  NEXT_MESSAGES,
  type RunContext,
  type Sink,
  textOf,
  type Usage,
} from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { addUsage, checkOption, NO_USAGE, pipe } from '@troupe/kernel/kit'
import { openSpan } from '@troupe/kernel/run'
import { isHandlerError } from './errors/error-origin.ts'
import { isStop } from './errors/is-stop.ts'
import type { HookQuestions } from './handlers/hook-questions.ts'
import type { LoopState } from './loop-state.ts'
import { MessageBuilder } from './model/message-builder.ts'
import { MODEL_ANSWERS, ModelAnswers } from './model/model-answers.ts'
import { partsOf } from './model/parts-of.ts'
import { recordedModel } from './model/recorded-model.ts'
import type { OutputCheck } from './model/structured-output.ts'
import { writeMessageEnd, writePartialEnd } from './model/write-message-end.ts'
import type { Plan } from './plan.ts'
import { modelKey } from './tools/call-key.ts'

/** The model calls of one run: their history and context, the tokens used and the last text. */
export class Dialogue {
  readonly #plan: Plan
  readonly #config: AgentConfig
  readonly #stamp: EventStamp
  readonly #sink: Sink<EventDraft>
  readonly journal: Journal | undefined
  ctx: RunContext
  messages: readonly Message[]
  usage: Usage = NO_USAGE
  readonly #questions: HookQuestions | undefined
  #calls: number
  #corrections: number
  /** The answers that the model has given inside the wraps of this turn. */
  #answers: ModelAnswers | undefined
  /** The answer that the after-hooks look at. */
  #reviewed: ModelResult | undefined

  constructor(
    plan: Plan,
    config: AgentConfig,
    ctx: RunContext,
    stamp: EventStamp,
    sink: Sink<EventDraft>,
    questions: HookQuestions | undefined,
    { modelCalls, corrections }: LoopState,
  ) {
    this.#plan = plan
    this.#config = config
    this.#stamp = stamp
    this.#sink = sink
    this.journal = ctx.get(JOURNAL)
    this.ctx = ctx
    this.messages = config.input.messages
    this.#questions = questions
    this.#calls = modelCalls
    this.#corrections = corrections
  }

  /** The state of a turn in which a hook has asked. Contract: the turn runs again, so its model call does not count yet. */
  get state(): Pick<LoopState, 'at' | 'made' | 'answer' | 'modelCalls' | 'corrections'> {
    const counts = { modelCalls: this.#calls - 1, corrections: this.#corrections }
    if (!this.#reviewed) return { at: 'model', ...counts, ...(this.#answers && { made: this.#answers.made }) }
    const { message, finishReason, model } = this.#reviewed
    return { at: 'answer', ...counts, answer: { message, finishReason, model } }
  }

  /** What a run keeps of its counts between turns. */
  get counts(): Pick<LoopState, 'modelCalls' | 'corrections'> {
    return { modelCalls: this.#calls, corrections: this.#corrections }
  }

  /** Calls the model once; a turn that runs again goes on with the answers it has. Contract: resolves to the message that decides what happens next, or to undefined if the model must be asked again. */
  async ask(turn: number, again?: LoopState): Promise<AssistantMessage | undefined> {
    const { chain, model, wrapsModel } = this.#plan
    if (this.ctx.cancelling) throw cancelled(this.ctx)
    this.#countCall()
    this.#answers = wrapsModel || again?.made ? new ModelAnswers(again?.made) : undefined
    if (!again?.made && !again?.answer) this.#takeNext()
    if (!again?.answer && chain.rewrites('beforeModelRewriteHistory')) {
      await this.#rewrite('beforeModelRewriteHistory', turn)
    }
    if (chain.rewritesAny) this.messages = repairHistory(this.messages)
    const before = this.messages
    const structured = this.#plan.output !== undefined
    const builder = new MessageBuilder(this.ctx, this.#stamp, this.#sink, this.#uniqueId, structured)
    if (again?.answer) return this.#decide(before, builder, await this.#showAgain(again.answer, builder), turn)
    const request = this.#request(turn)
    const span = openSpan(this.ctx, 'model', model.name, request)
    let result: ModelResult
    try {
      // Not in a method of its own, which would cost 0.1 of 2.8 µs of a turn.
      await pipe(this.#call(request, builder), builder)
      this.#questions?.throwIfAsked()
      const wait = builder.end()
      if (wait) await wait
      result = builder.result(model.name)
    } catch (error) {
      span?.fail(error)
      await this.#cutOff(builder, error)
      throw error
    }
    span?.end(result)
    this.#answers = undefined
    return this.#decide(before, builder, result, turn)
  }

  /** Takes the messages that came with the answers of this run. Contract: not before an answer that the model has given without them. */
  #takeNext(): void {
    const next = this.ctx.get(NEXT_MESSAGES)
    if (next?.runId === this.#stamp.runId) this.messages = this.messages.concat(next.take())
  }

  /** Adds an answer to the history and shows its end. Contract: gives the message that decides what happens next, or undefined if the model must be asked again. */
  #decide(
    before: readonly Message[],
    builder: MessageBuilder,
    result: ModelResult,
    turn: number,
  ): Awaitable<AssistantMessage | undefined> {
    const { chain, output } = this.#plan
    this.usage = addUsage(this.usage, result.usage)
    this.messages = before.concat([result.message])
    if (output || chain.rewrites('afterModelRewriteHistory')) return this.#review(before, builder, result, turn)
    const wait = this.#sink.write(this.#endOf(result, undefined))
    return wait ? wait.then(() => result.message) : result.message
  }

  #call(request: ModelRequest, builder: MessageBuilder): AsyncIterable<ModelPart> {
    const { callModel } = this.#plan
    const ctx = this.#answers ? this.ctx.with(MODEL_ANSWERS, this.#answers) : this.ctx
    if (!this.journal) return callModel(ctx, request)
    return recordedModel(this.journal, ctx, request, callModel, builder)
  }

  /** Shows the answer that the model gave before a hook asked about it; its tokens were counted then. */
  async #showAgain(
    { message, finishReason: reason, model }: NonNullable<LoopState['answer']>,
    builder: MessageBuilder,
  ): Promise<ModelResult> {
    for (const part of partsOf(message)) await builder.write(part)
    await builder.write({ type: 'finish', reason, usage: NO_USAGE, model })
    await builder.end()
    return builder.result(model)
  }

  #countCall(): void {
    const { maxIterations: limit = this.#plan.maxIterations } = this.#config.runOptions
    if (!(Number.isInteger(limit) && limit >= 1)) {
      checkOption(false, `agent ${this.ctx.agentName}`, 'maxIterations must be a whole number from 1 on', limit)
    }
    if (this.#calls++ < limit) return
    throw new KernelError(
      'MAX_ITERATIONS',
      `agent ${this.ctx.agentName}: made ${limit} model calls without a final answer; raise maxIterations if it needs more`,
    )
  }

  #request(turn: number): ModelRequest {
    const { modelOptions, toolbox } = this.#plan
    const { instruction, runOptions } = this.#config
    const position = `model:${turn}`
    const step = this.ctx.step === '' ? position : `${this.ctx.step}/${position}`
    const { model: options } = runOptions
    return {
      instruction,
      messages: this.messages,
      tools: toolbox.specs,
      options: options ? { ...modelOptions, ...options } : modelOptions,
      step,
      idempotencyKey: modelKey(this.ctx, position),
    }
  }

  /** The end of an answer, before the changes of the after-hooks. */
  #endOf(
    { message, usage, model, finishReason }: ModelResult,
    checked: OutputCheck | undefined,
  ): EventDraft & { type: 'message-end' } {
    const { runId, agentName, runPath } = this.#stamp
    const end = { type: 'message-end', runId, agentName, runPath, message, usage, model, finishReason } as const
    if (!checked) return end
    return 'problem' in checked ? { ...end, dropped: true } : { ...end, output: checked.value }
  }

  /** Runs the after-hooks on the answer, and checks its structured output. */
  async #review(
    before: readonly Message[],
    builder: MessageBuilder,
    result: ModelResult,
    turn: number,
  ): Promise<AssistantMessage | undefined> {
    const { chain, output } = this.#plan
    if (chain.rewrites('afterModelRewriteHistory')) await this.#rewriteAnswer(builder, result, turn)
    const final = this.#final()
    const checked = final && output ? await output.check(textOf(final.content)) : undefined
    if (final && checked && !final.structured) this.messages = this.messages.with(-1, { ...final, structured: true })
    const last = this.messages.at(-1)
    const wait = writeMessageEnd(this.#sink, this.ctx, before, this.messages, this.#endOf(result, checked))
    if (wait) await wait
    if (checked && 'problem' in checked) return this.#correct(checked.problem)
    return decisive(last, result.message)
  }

  /** The answer at the end of the history, unless it has calls. */
  #final(): AssistantMessage | undefined {
    const last = this.messages.at(-1)
    return last?.role === 'assistant' && !last.toolCalls?.length ? last : undefined
  }

  async #rewriteAnswer(builder: MessageBuilder, result: ModelResult, turn: number): Promise<void> {
    this.#reviewed = result
    try {
      await this.#rewrite('afterModelRewriteHistory', turn)
    } catch (error) {
      await this.#drop(builder, result.usage)
      throw error
    }
    this.#reviewed = undefined
    this.#renameCalls(result.message)
  }

  async #rewrite(hook: 'beforeModelRewriteHistory' | 'afterModelRewriteHistory', turn: number): Promise<void> {
    const { ctx, messages } = await this.#plan.chain.rewrite(hook, { ctx: this.ctx, messages: this.messages }, turn)
    this.#questions?.throwIfAsked()
    this.ctx = ctx
    this.messages = messages
  }

  /** Contract: call ids are unique in the thread, including those of calls that a handler adds. */
  #renameCalls(streamed: AssistantMessage): void {
    const last = this.messages.at(-1)
    if (last === streamed || last?.role !== 'assistant' || !last.toolCalls) return
    const own = new Set(streamed.toolCalls?.map(({ id }) => id))
    const toolCalls = last.toolCalls.map((call) =>
      own.delete(call.id) ? call : { ...call, id: this.#uniqueId(call.id) },
    )
    if (toolCalls.some(({ id }, i) => id !== last.toolCalls?.[i]?.id)) {
      this.messages = this.messages.with(-1, { ...last, toolCalls })
    }
  }

  /** Closes the shown message of a call that failed for good. Contract: it stays in the history as far as it goes, unless it is too large or a handler has refused it. */
  async #cutOff(builder: MessageBuilder, error: unknown): Promise<void> {
    if (KernelError.is(error, 'INTERRUPTED') && isStop(error, this.ctx)) return this.#dropAsked(builder)
    if (isHandlerError(error) && !this.ctx.signal.aborted) return this.#drop(builder)
    // In the history it would make every later request too long.
    if (KernelError.is(error, 'ANSWER_TOO_LARGE')) return this.#drop(builder)
    if (!builder.begun) return
    try {
      await writePartialEnd(this.#sink, this.ctx, builder.message())
    } catch {
      // The reader has left; the error of the call matters more.
    }
  }

  /** Takes back what was shown of an answer when a wrap asks; the tokens of the model count now, because it is not asked again. */
  async #dropAsked(builder: MessageBuilder): Promise<void> {
    const { usage = NO_USAGE } = this.#answers ?? {}
    this.usage = addUsage(this.usage, usage)
    if (usage !== NO_USAGE) await builder.begin()
    await this.#drop(builder, usage)
  }

  /** Closes the shown message of an answer that does not count, if there is one; it does not enter the history. */
  async #drop(builder: MessageBuilder, usage?: Usage): Promise<void> {
    if (!builder.begun) return
    try {
      const message = builder.message()
      await this.#sink.write({ type: 'message-end', message, ...(usage && { usage }), dropped: true })
    } catch {
      // The reader has left; the error of the call matters more.
    }
  }

  /** Asks the model to correct its answer. Contract: the model sees answer and correction until this run ends; neither enters the history. */
  #correct(problem: string): undefined {
    const { output } = this.#plan
    if (output && this.#corrections++ >= output.corrections) {
      throw new KernelError('VALIDATION_FAILED', `agent ${this.ctx.agentName}: ${problem}`)
    }
    const content = `${problem}\nAnswer again, with JSON that fits the schema and nothing else.`
    this.messages = this.messages.concat([{ id: this.ctx.ids.next(), role: 'user', content }])
  }

  /** Contract: a provider's call id stays if it is unique in the thread, and is replaced otherwise. */
  readonly #uniqueId = (callId: string): string => {
    const { messages } = this.#config.input
    const known = this.#plan.chain.hasAgentHooks && hasCall(messages, callId)
    return this.ctx.ids.call(known ? '' : callId)
  }
}

/** The message that decides what happens next. Contract: a user message or a result at the end of the history asks the model again; without any message, the answer counts without its calls. */
function decisive(last: Message | undefined, streamed: AssistantMessage): AssistantMessage | undefined {
  if (last?.role === 'user' || last?.role === 'tool') return undefined
  return last?.role === 'assistant' ? last : { ...streamed, toolCalls: [] }
}

/** The error of a run that was asked to stop between its steps. */
export function cancelled(ctx: RunContext): KernelError {
  return new KernelError('ABORTED', `agent ${ctx.agentName}: asked to stop ${ctx.cancelling}`)
}

/** Whether a history has a call of this id; the run knows only the history it began with, and `beforeAgent` may have changed it. */
function hasCall(messages: readonly Message[], callId: string): boolean {
  for (const message of messages) {
    if (message.role === 'assistant' && message.toolCalls?.some(({ id }) => id === callId)) return true
  }
  return false
}
