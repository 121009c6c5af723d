import {
  type CreateMessageResult,
  type InputRequiredResult,
  isInputRequiredResult,
  type RequestOptions,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/client'
import { KernelError, type RunContext, type ToolCallResult } from '@troupe/kernel'
import { type AbortScope, untilAborted } from '@troupe/kernel/kit'
import { didNotBegin, lostResult, reasonOf, unavailable, wasAnswered } from './call-error.ts'
import type { Connection } from './connection.ts'
import type { LiveCall } from './live-call.ts'
import { type InputOfRetry, PendingInput } from './pending-input.ts'
import { questionOf, resultOf } from './question.ts'
import type { Sampler } from './sampling.ts'
import type { ServerLink } from './server-link.ts'
import type { SignIns } from './sign-in/sign-ins.ts'

const MAX_ROUNDS = 10
const CANCELLED_NOTE =
  'A question of the server was cancelled, because it could not be told which of several calls it belongs to. Call it again, alone.'

/** One request that a server may answer with questions. */
export interface ServerRequest<T> {
  readonly ctx: RunContext
  /** Names the request in the state of the run, the same when it is made again. */
  readonly key: string
  readonly scope: AbortScope
  /** Whether it must not be made twice. */
  readonly once: boolean
  send(connection: Connection, input: InputOfRetry, options: RequestOptions): Promise<T | InputRequiredResult>
}

/** What became of a request. */
type Performed<T> = { readonly value: T; readonly note?: string } | { readonly lost: ToolCallResult }

/** Makes requests to one server and answers what it asks meanwhile. */
export class ServerCalls {
  readonly #link: ServerLink
  readonly #signIns: SignIns
  readonly #sampler: Sampler | undefined

  constructor(link: ServerLink, signIns: SignIns, sampler: Sampler | undefined) {
    this.#link = link
    this.#signIns = signIns
    this.#sampler = sampler
  }

  get name(): string {
    return this.#link.name
  }

  /** Contract: rejects with the reason of the scope when it aborts; a request that must not be made twice is never made again after it may have begun. */
  async perform<T extends object>(request: ServerRequest<T>): Promise<Performed<T>> {
    const { ctx, key } = request
    const pending = new PendingInput(ctx, key, this.#answerer(request))
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
    const { ctx, scope, once } = request
    const connection = await this.#connection(ctx, scope)
    try {
      return await this.#sendOn(connection, request, input)
    } catch (error) {
      if (scope.signal.aborted) throw scope.signal.reason
      if (await this.#solved(error, request)) return this.#send(request, input, true)
      if (wasAnswered(error)) throw this.#failed(reasonOf(error), error)
      if (didNotBegin(error)) {
        await this.#link.drop(connection)
        if (!isAgain) return this.#send(request, input, true)
        this.#link.failed(ctx, error)
        throw unavailable(this.name, error)
      }
      if (connection.closed) this.#link.failed(ctx, error)
      return { lost: lostResult(this.name, error, once) }
    }
  }

  async #sendOn<T extends object>(
    connection: Connection,
    request: ServerRequest<T>,
    input: InputOfRetry,
  ): Promise<Performed<T | InputRequiredResult>> {
    const { ctx, scope, send } = request
    const { timeoutMs = 60_000 } = this.#link.server
    const live = this.#liveCall(request)
    const entered = connection.calls.enter(live)
    if (entered) await untilAborted(scope.signal, entered, () => connection.calls.leave(live))
    try {
      const { signal } = scope
      const options = { signal, timeout: timeoutMs, resetTimeoutOnProgress: true, allowInputRequired: true }
      const value = await send(connection, input, options)
      this.#link.succeeded(ctx)
      return live.questionCancelled ? { value, note: CANCELLED_NOTE } : { value }
    } finally {
      connection.calls.leave(live)
    }
  }

  async #connection(ctx: RunContext, { signal }: AbortScope): Promise<Connection> {
    return this.#signIns.during(ctx, this.#link, () => untilAborted(signal, this.#link.connection(ctx)))
  }

  /** Whether a person has done what the server asked for before it begins with the call. */
  async #solved<T>(error: unknown, request: ServerRequest<T>): Promise<boolean> {
    const { ctx } = request
    if (this.#signIns.isRequired(error)) return this.#signIns.ask(ctx, this.#link)
    if (!(error instanceof UrlElicitationRequiredError) || !ctx.canInterrupt) return false
    for (const params of error.elicitations) await ctx.interrupt(questionOf(this.name, { ...params, mode: 'url' }))
    return true
  }

  #answerer<T>({ ctx }: ServerRequest<T>): Omit<LiveCall, 'questionCancelled'> {
    return {
      ask: async (params) => {
        if (!ctx.canInterrupt) return { action: 'cancel' }
        return resultOf(params, await ctx.interrupt(questionOf(this.name, params)))
      },
      sample: (params): Promise<CreateMessageResult> => {
        if (!this.#sampler) return Promise.reject(this.#failed('asked for a model, and `sampling` is off'))
        return this.#sampler.sample(this.name, params, ctx)
      },
    }
  }

  /** The call as the server sees it on a stateful connection: a question ends it, as it is made again with the answer. */
  #liveCall<T>(request: ServerRequest<T>): LiveCall {
    const { scope } = request
    const answerer = this.#answerer(request)
    const orEnd =
      <P, R>(work: (params: P) => Promise<R>, ended: () => R) =>
      async (params: P) => {
        try {
          return await work(params)
        } catch (error) {
          if (!KernelError.is(error, 'INTERRUPTED')) throw error
          scope.abort(error)
          return ended()
        }
      }
    return {
      questionCancelled: false,
      ask: orEnd(answerer.ask, () => ({ action: 'cancel' })),
      sample: answerer.sample,
    }
  }

  #failed(why: string, cause?: unknown): KernelError {
    const { name } = this
    return new KernelError('MCP_CALL_FAILED', `mcp server ${name}: ${why}`, { cause, details: { server: name } })
  }
}
