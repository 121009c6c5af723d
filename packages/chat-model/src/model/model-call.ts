import {
  type CallModel,
  type ChatModel,
  KernelError,
  type ModelPart,
  type ModelRequest,
  type RunContext,
  type Sink,
  stream,
} from '@troupe/kernel'
import { ANSWER_NOT_KEPT, pipe, sleep } from '@troupe/kernel/kit'
import { beforeEffect } from '@troupe/kernel/run'
import { isModelError, markModelError } from '../errors/error-origin.ts'
import { withinLimit } from '../errors/within-limit.ts'
import { answerLength } from './answer-length.ts'
import { MODEL_ANSWERS } from './model-answers.ts'
import { pauseOf, type RetryPolicy } from './retry.ts'

/** The limits of one attempt, and when another one follows. */
export interface ModelAttempts {
  readonly retry: RetryPolicy
  readonly timeoutMs: number | undefined
  /** How many characters an answer may have. */
  readonly maxChars: number
}

/**
 * Calls a model with its retries, then those to fall back on, in order.
 * Contract: an answer that the turn has from before is given again; the parts of a failed attempt are followed by `restart`; `timeoutMs` and `maxChars` limit each attempt.
 */
export function modelCall(models: readonly ChatModel[], attempts: ModelAttempts): CallModel {
  return (ctx, request) =>
    stream((sink) => {
      const answers = ctx.get(MODEL_ANSWERS)
      const kept = (ctx.get(ANSWER_NOT_KEPT) ? answers?.count(sink) : answers?.begin(sink)) ?? sink
      return 'write' in kept ? callInOrder(models, attempts, ctx, request, kept) : writeAll(kept, sink)
    })
}

async function writeAll(parts: readonly ModelPart[], sink: Sink<ModelPart>): Promise<void> {
  for (const part of parts) await sink.write(part)
}

async function callInOrder(
  models: readonly ChatModel[],
  { retry, timeoutMs, maxChars }: ModelAttempts,
  ctx: RunContext,
  request: ModelRequest,
  sink: Sink<ModelPart>,
): Promise<void> {
  let failure: KernelError | undefined
  let attempts = 0
  for (const model of models) {
    for (let made = 1; ; made++) {
      attempts++
      const attempt = new ModelAttempt(model, sink, maxChars, failure !== undefined)
      try {
        await attempt.run(ctx, request, timeoutMs)
        attempt.checkFinished()
        return
      } catch (error) {
        failure = attempt.failureOf(error, ctx)
      }
      const pause = pauseOf(retry, failure, made)
      if (pause === undefined) break
      await sleep(ctx.clock, pause, ctx.signal)
    }
  }
  if (attempts === 1) throw failure
  const prefix = `gave up after ${attempts} attempts, `
  throw markModelError(KernelError.within(prefix, failure, 'MODEL_FAILED', { attempts }))
}

/** One attempt with one model. */
class ModelAttempt implements Sink<ModelPart> {
  readonly #model: ChatModel
  readonly #sink: Sink<ModelPart>
  /** Whether parts of an earlier attempt may have been shown: the first part of this one takes them back. */
  #restart: boolean
  #finished = false
  readonly #maxChars: number
  /** How many characters the answer has so far. */
  #length = 0
  /** Set if the reader of the parts failed, and not the model. */
  #downstream: { readonly error: unknown } | undefined

  constructor(model: ChatModel, sink: Sink<ModelPart>, maxChars: number, restart: boolean) {
    this.#model = model
    this.#maxChars = maxChars
    this.#sink = sink
    this.#restart = restart
  }

  run(ctx: RunContext, request: ModelRequest, timeoutMs: number | undefined): Promise<void> {
    if (timeoutMs === undefined) return this.#read(ctx, request)
    return withinLimit(ctx, timeoutMs, `model ${this.#model.name}`, (limited) => this.#read(limited, request))
  }

  /** Contract: throws `MODEL_FAILED` for an answer without `finish`. */
  checkFinished(): void {
    if (this.#finished) return
    throw new KernelError('MODEL_FAILED', `model ${this.#model.name}: ended without finish`, { retryable: true })
  }

  /** The model's failure. Contract: throws if the run was aborted or the reader of the parts failed; every further part is discarded. */
  failureOf(error: unknown, ctx: RunContext): KernelError {
    this.#finished = true
    if (this.#downstream) throw this.#downstream.error
    const failure = markModelError(KernelError.from(error, 'MODEL_FAILED'))
    if (failure.code === 'ABORTED' || ctx.signal.aborted) throw failure
    return failure
  }

  #read(ctx: RunContext, request: ModelRequest): Promise<void> {
    const wait = beforeEffect(ctx)
    const read = () => pipe(this.#model.stream(request, { signal: ctx.signal }), this)
    return wait ? wait.then(read) : read()
  }

  write(part: ModelPart): void | Promise<void> {
    if (this.#finished) return
    this.#length = answerLength(this.#model.name, this.#length, part, this.#maxChars)
    const wait = this.#restart ? this.#pass({ type: 'restart' }) : undefined
    this.#restart = false
    if (part.type !== 'finish') return wait ? wait.then(() => this.#pass(part)) : this.#pass(part)
    this.#finished = true
    const finish = part.model === undefined ? { ...part, model: this.#model.name } : part
    return wait ? wait.then(() => this.#pass(finish)) : this.#pass(finish)
  }

  #pass(part: ModelPart): void | Promise<void> {
    try {
      return this.#sink.write(part)
    } catch (error) {
      // A malformed part is the model's failure.
      if (!KernelError.is(error) || !isModelError(error)) this.#downstream = { error }
      throw error
    }
  }
}
