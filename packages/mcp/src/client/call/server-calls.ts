import {
  type InputRequiredResult,
  isInputRequiredResult,
  type Progress,
  type RequestOptions,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/client'
import { KernelError, type RunContext, type ToolCallResult } from '@troupe/kernel'
import { untilAborted } from '@troupe/kernel/kit'
import type { Connection } from '../connection/connection.ts'
import type { SignIns } from '../sign-in/sign-ins.ts'
import { didNotBegin, lostResult, reasonOf, unavailable, wasAnswered } from './call-error.ts'
import { type Attempt, OpenCall } from './open-call.ts'
import { type InputOfRetry, PendingInput } from './pending-input.ts'
import { questionOf, resultOf } from './question.ts'
import type { Sampler } from './sampling.ts'
import type { ServerLink } from './server-link.ts'

const MAX_ROUNDS = 10
const CANCELLED_NOTE =
  'A question of the server was cancelled, because it could not be told which of several calls it belongs to. Call it again, alone.'

/** One request that a server may answer with questions. */
export interface ServerRequest<T> {
  readonly ctx: RunContext
  /** Names the request in the run, the same when it is made again. */
  readonly key: string
  readonly signal: AbortSignal
  /** Whether it must not be made twice. */
  readonly once: boolean
  onProgress(progress: Progress): void
  send(connection: Connection, input: InputOfRetry, options: RequestOptions): Promise<T | InputRequiredResult>
}

/** What became of a request. */
type Performed<T> = { readonly value: T; readonly note?: string } | { readonly lost: ToolCallResult }

/** Makes requests to one server and answers what it asks meanwhile. */
export class ServerCalls {
  readonly #link: ServerLink
  readonly #signIns: SignIns
  readonly #sampler: Sampler | undefined
  /** The calls of stateful servers that wait for a person, by owner, thread and request. */
  readonly #asking = new Map<string, OpenCall<object>>()

  constructor(link: ServerLink, signIns: SignIns, sampler: Sampler | undefined) {
    this.#link = link
    this.#signIns = signIns
    this.#sampler = sampler
  }

  get name(): string {
    return this.#link.name
  }

  /** Contract: rejects with the reason of the signal when it aborts; a request that must not be made twice is never made again after it may have begun. */
  async perform<T extends object>(request: ServerRequest<T>): Promise<Performed<T>> {
    const { ctx, key } = request
    const pending = new PendingInput(ctx, key, this.#attempt(request))
    try {
      let input = await pending.again()
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const performed = await this.#send(request, input)
        if ('lost' in performed) return performed
        const { value } = performed
        if (!isInputRequiredResult(value)) return { ...performed, value }
        input = await pending.answer(value)
      }
      throw this.#failed(`asked more than ${MAX_ROUNDS} times in one call`)
    } catch (error) {
      if (KernelError.is(error, 'INTERRUPTED')) pending.keep()
      throw error
    } finally {
      pending.end()
    }
  }

  /** Sends a request, once more if it has certainly not begun. */
  async #send<T extends object>(
    request: ServerRequest<T>,
    input: InputOfRetry,
    isAgain = false,
  ): Promise<Performed<T | InputRequiredResult>> {
    const call = await this.#callFor(request, input)
    try {
      const value = await this.#resultOf(call, request)
      return call.questionCancelled ? { value, note: CANCELLED_NOTE } : { value }
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason
      if (KernelError.is(error, 'INTERRUPTED')) throw error
      if (await this.#solved(error, request)) return this.#send(request, input, true)
      if (wasAnswered(error)) throw this.#failed(reasonOf(error), error)
      if (!didNotBegin(error)) return { lost: lostResult(this.name, error, request.once) }
      await this.#link.drop(call.connection)
      if (!isAgain) return this.#send(request, input, true)
      this.#link.failed(request.ctx, error)
      throw unavailable(this.name, error)
    }
  }

  /** The call that asked at an earlier attempt, or a new one. */
  async #callFor<T extends object>(
    request: ServerRequest<T>,
    input: InputOfRetry,
  ): Promise<OpenCall<T | InputRequiredResult>> {
    const { ctx, signal, send } = request
    const asking = this.#asking.get(keyOf(request))
    if (asking) return asking as OpenCall<T | InputRequiredResult>
    const connection = await this.#signIns.during(ctx, this.#link, () =>
      untilAborted(signal, this.#link.connection(ctx)),
    )
    const entered = connection.calls.whenOpen()
    if (entered) await untilAborted(signal, entered)
    const { timeoutMs = 60_000 } = this.#link.server
    const options = { timeout: timeoutMs, resetTimeoutOnProgress: true, allowInputRequired: true }
    return new OpenCall(
      connection,
      (stop, onprogress) => send(connection, input, { ...options, signal: stop, onprogress }),
      this.#attempt(request),
    )
  }

  async #resultOf<T extends object>(call: OpenCall<T>, request: ServerRequest<unknown>): Promise<T> {
    const { calls } = call.connection
    const key = keyOf(request)
    this.#asking.delete(key)
    calls.add(call)
    try {
      const value = await call.wait(this.#attempt(request))
      this.#link.succeeded(request.ctx)
      return value
    } catch (error) {
      if (KernelError.is(error, 'INTERRUPTED') && call.asks) {
        this.#asking.set(key, call)
        call.onEnd(() => this.#asking.get(key) === call && this.#asking.delete(key))
      }
      throw error
    } finally {
      calls.leave(call)
    }
  }

  /** Whether a person has done what the server asked for before it begins with the call. */
  async #solved<T>(error: unknown, { ctx }: ServerRequest<T>): Promise<boolean> {
    if (this.#signIns.isRequired(error)) return this.#signIns.ask(ctx, this.#link)
    if (!(error instanceof UrlElicitationRequiredError) || !ctx.canInterrupt) return false
    for (const params of error.elicitations) await ctx.interrupt(questionOf(this.name, { ...params, mode: 'url' }))
    return true
  }

  #attempt<T>({ ctx, signal, onProgress }: ServerRequest<T>): Attempt {
    return {
      signal,
      onProgress,
      ask: async (params) => {
        if (!ctx.canInterrupt) return { action: 'cancel' }
        return resultOf(params, await ctx.interrupt(questionOf(this.name, params)))
      },
      sample: (params) => {
        if (!this.#sampler) return Promise.reject(this.#failed('asked for a model, and `sampling` is off'))
        return this.#sampler.sample(this.name, params, ctx)
      },
    }
  }

  #failed(why: string, cause?: unknown): KernelError {
    const { name } = this
    return new KernelError('MCP_CALL_FAILED', `mcp server ${name}: ${why}`, { cause, details: { server: name } })
  }
}

function keyOf({ ctx, key }: ServerRequest<unknown>): string {
  const { app, user, threadId } = ctx.session
  return JSON.stringify([app, user, threadId, key])
}
