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
import { pipe } from '@troupe/kernel/kit'
import { isModelError, markModelError } from '../error-origin.ts'
import { withinLimit } from '../time-limit.ts'
import { pauseOf, type RetryPolicy } from './retry.ts'

/** The models of a call, its retries and its time limit. */
export interface ModelCallOptions {
  /** The model, and those to fall back on, in order. */
  readonly models: readonly ChatModel[]
  readonly retry: RetryPolicy
  readonly timeoutMs: number | undefined
}

/** Calls a model with its retries and fallbacks. Contract: the parts of a failed attempt are followed by `restart`. */
export function modelCall({ models, retry, timeoutMs }: ModelCallOptions): CallModel {
  return (ctx, request) =>
    stream(async (sink) => {
      let last: KernelError | undefined
      for (const model of models) {
        for (let made = 1; ; made++) {
          const attempt = new ModelAttempt(model, sink, last !== undefined)
          try {
            await attempt.run(ctx, request, timeoutMs)
            attempt.check()
            return
          } catch (error) {
            if (attempt.downstream) throw attempt.downstream.error
            last = markModelError(KernelError.from(error, 'MODEL_FAILED'))
            if (last.code === 'ABORTED' || ctx.signal.aborted) throw last
          } finally {
            attempt.close()
          }
          const pause = pauseOf(retry, last, made)
          if (pause === undefined) break
          await sleep(ctx, pause)
        }
      }
      throw last
    })
}

/** One attempt with one model. */
class ModelAttempt implements Sink<ModelPart> {
  readonly #model: ChatModel
  readonly #sink: Sink<ModelPart>
  /** Whether parts of an earlier attempt may have been shown: the first part of this one takes them back. */
  #restart: boolean
  #finished = false
  /** Set if the reader of the parts failed, and not the model. */
  downstream: { readonly error: unknown } | undefined

  constructor(model: ChatModel, sink: Sink<ModelPart>, restart: boolean) {
    this.#model = model
    this.#sink = sink
    this.#restart = restart
  }

  run(ctx: RunContext, request: ModelRequest, timeoutMs: number | undefined): Promise<void> {
    if (timeoutMs === undefined) return this.#read(ctx, request)
    return withinLimit(ctx, timeoutMs, `model ${this.#model.name}`, (limited) => this.#read(limited, request))
  }

  /** Contract: throws `MODEL_FAILED` for an answer without `finish`. */
  check(): void {
    if (this.#finished) return
    throw new KernelError('MODEL_FAILED', `model ${this.#model.name}: ended without finish`, { retryable: true })
  }

  /** Discards every further part of a model that does not stop. */
  close(): void {
    this.#finished = true
  }

  #read(ctx: RunContext, request: ModelRequest): Promise<void> {
    return pipe(this.#model.stream(request, new LazySignal(ctx)), this)
  }

  write(part: ModelPart): void | Promise<void> {
    if (this.#finished) return
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
      if (!KernelError.is(error) || !isModelError(error)) this.downstream = { error }
      throw error
    }
  }
}

/** Creates the signal only when a model reads it. */
class LazySignal {
  readonly #ctx: RunContext

  constructor(ctx: RunContext) {
    this.#ctx = ctx
  }

  get signal(): AbortSignal {
    return this.#ctx.signal
  }
}

function sleep(ctx: RunContext, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const { signal } = ctx
    const stop = () => {
      cancel()
      reject(signal.reason)
    }
    const cancel = ctx.clock.after(ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
