import {
  type AgentConfig,
  type AssistantMessage,
  addUsage,
  checkOption,
  type EventDraft,
  type EventStamp,
  KernelError,
  type Message,
  type ModelRequest,
  NO_USAGE,
  pipe,
  type RunContext,
  type Sink,
  textOf,
  type Usage,
} from '@troupe/kernel'
import { repairHistory } from '@troupe/kernel/history'
import { openSpan } from '@troupe/kernel/run'
import type { Plan } from '../plan.ts'
import type { Toolbox } from '../tools/toolbox.ts'
import { Answer, type Finish } from './answer.ts'
import { type Ending, tellMessage } from './message-end.ts'
import type { Verdict } from './structured-output.ts'

/** What `beforeAgent` has made of an agent for one run. */
export interface Setup {
  readonly config: AgentConfig
  readonly toolbox: Toolbox
}

/** The talk with the model in one run: its history, its context, and what it has come to. */
export class Dialogue {
  readonly #plan: Plan
  readonly #stamp: EventStamp
  readonly #sink: Sink<EventDraft>
  readonly #setup: Setup
  ctx: RunContext
  messages: readonly Message[]
  usage: Usage = NO_USAGE
  text = ''
  #calls = 0
  #corrections = 0

  constructor(plan: Plan, setup: Setup, ctx: RunContext, stamp: EventStamp, sink: Sink<EventDraft>) {
    this.#plan = plan
    this.#setup = setup
    this.#stamp = stamp
    this.#sink = sink
    this.ctx = ctx
    this.messages = setup.config.input.messages
  }

  /** One model call; gives the message that decides what happens next, or nothing if the model must try again. */
  async ask(turn: number): Promise<AssistantMessage | undefined> {
    const { chain, output, model } = this.#plan
    this.#checkCancelled()
    this.#countCall()
    if (chain.rewrites('beforeModelRewriteHistory')) await this.#rewrite('beforeModelRewriteHistory')
    if (chain.rewritesAny) this.messages = repairHistory(this.messages)
    const before = this.messages
    const request = this.#request(turn)
    const span = openSpan(this.ctx, 'model', model.name, request)
    const answer = new Answer(this.ctx, this.#stamp, this.#sink, this.#uniqueId)
    let finish: Finish
    try {
      await pipe(chain.callModel(this.ctx, request), answer)
      const wait = answer.end()
      if (wait) await wait
      finish = finishOf(answer, model.name)
    } catch (error) {
      span?.fail(error)
      if (answer.begun) await this.#drop(answer)
      throw error
    }
    const streamed = answer.message()
    span?.end({
      message: streamed,
      usage: finish.usage,
      finishReason: finish.reason,
      model: finish.model || model.name,
    })
    this.usage = addUsage(this.usage, finish.usage)
    this.messages = before.concat([streamed])
    if (chain.rewrites('afterModelRewriteHistory')) await this.#review(answer, streamed, finish.usage)
    const last = this.messages.at(-1)
    const final = last?.role === 'assistant' && !last.toolCalls?.length ? last : undefined
    const verdict = final && output ? await output.judge(textOf(final.content)) : undefined
    if (last === streamed && !verdict) {
      const wait = this.#tell(streamed, finish)
      if (wait) await wait
    } else await tellMessage(this.#sink, this.ctx, streamed, before, this.messages, endingOf(finish, verdict))
    if (verdict && 'complaint' in verdict) {
      this.#correct(verdict.complaint)
      return undefined
    }
    if (final) this.text = textOf(final.content)
    if (last?.role === 'user' || last?.role === 'tool') return undefined
    return last?.role === 'assistant' ? last : { ...streamed, toolCalls: [] }
  }

  #countCall(): void {
    const { maxIterations: limit = this.#plan.maxIterations } = this.#setup.config.runOptions
    if (!(Number.isInteger(limit) && limit >= 1)) {
      checkOption(false, `agent ${this.ctx.agentName}`, 'maxIterations is a whole number from 1 on', limit)
    }
    if (this.#calls++ < limit) return
    throw new KernelError('MAX_ITERATIONS', `agent ${this.ctx.agentName}: made ${limit} model calls without an end`)
  }

  #request(turn: number): ModelRequest {
    const { config, toolbox } = this.#setup
    const { modelOptions } = this.#plan
    const position = `model:${turn}`
    const step = this.ctx.step === '' ? position : `${this.ctx.step}/${position}`
    const { model: options } = config.runOptions
    return {
      instruction: config.instruction,
      messages: this.messages,
      tools: toolbox.specs,
      options: options ? { ...modelOptions, ...options } : modelOptions,
      step,
      idempotencyKey: `${this.ctx.runId}/${step}`,
    }
  }

  /** Tells the end of a message that stayed as it was streamed. */
  #tell(message: AssistantMessage, { usage, reason: finishReason }: Finish): void | Promise<void> {
    const { runId, agentName, runPath } = this.#stamp
    return this.#sink.write({ type: 'message-end', runId, agentName, runPath, message, usage, finishReason })
  }

  /** Lets the after-hooks see the answer. */
  async #review(answer: Answer, streamed: AssistantMessage, usage: Usage): Promise<void> {
    try {
      await this.#rewrite('afterModelRewriteHistory')
    } catch (error) {
      await this.#drop(answer, usage)
      throw error
    }
    this.#renameCalls(streamed)
  }

  async #rewrite(hook: 'beforeModelRewriteHistory' | 'afterModelRewriteHistory'): Promise<void> {
    const { ctx, messages } = await this.#plan.chain.rewrite(hook, { ctx: this.ctx, messages: this.messages })
    this.ctx = ctx
    this.messages = messages
  }

  /** Contract: call ids are unique in the thread, also of calls that a handler adds. */
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

  /** Closes what a failed call has shown; it is in no history. */
  async #drop(answer: Answer, usage?: Usage): Promise<void> {
    try {
      const message = answer.message()
      await this.#sink.write({ type: 'message-end', message, ...(usage && { usage }), dropped: true })
    } catch {
      // Nobody reads any more; the call's own error is what counts.
    }
  }

  /** Contract: the model sees the answer and what is wrong with it for the rest of this run; no history keeps either. */
  #correct(complaint: string): void {
    const { output } = this.#plan
    if (output && this.#corrections++ >= output.corrections) {
      throw new KernelError('VALIDATION_FAILED', `agent ${this.ctx.agentName}: ${complaint}`)
    }
    const content = `${complaint}\nAnswer again, with JSON that fits the schema and nothing else.`
    this.messages = this.messages.concat([{ id: this.ctx.ids.next(), role: 'user', content }])
  }

  #checkCancelled(): void {
    if (this.ctx.cancelling) throw cancelled(this.ctx)
  }

  /** Contract: a provider's call id is kept if unique in the thread, otherwise replaced. */
  readonly #uniqueId = (callId: string): string => {
    const { messages } = this.#setup.config.input
    const known = this.#plan.chain.framesAgent && hasCall(messages, callId)
    return this.ctx.ids.call(known ? '' : callId)
  }
}

function finishOf({ finish }: Answer, model: string): Finish {
  if (finish) return finish
  throw new KernelError('MODEL_FAILED', `model ${model}: a handler took its finish away`)
}

function endingOf({ usage, reason }: Finish, verdict: Verdict | undefined): Ending {
  if (!verdict) return { usage, finishReason: reason }
  const judged = 'complaint' in verdict ? { dropped: true as const } : { output: verdict.value }
  return { usage, finishReason: reason, ...judged }
}

/** The error of an agent that was asked to stop between its steps. */
export function cancelled(ctx: RunContext): KernelError {
  return new KernelError('ABORTED', `agent ${ctx.agentName}: asked to stop ${ctx.cancelling}`)
}

/** The run knows the history it began with; a handler may have put other calls into it. */
function hasCall(messages: readonly Message[], callId: string): boolean {
  for (const message of messages) {
    if (message.role === 'assistant' && message.toolCalls?.some(({ id }) => id === callId)) return true
  }
  return false
}
