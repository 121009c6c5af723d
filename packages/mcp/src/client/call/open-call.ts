import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
  Progress,
} from '@modelcontextprotocol/client'
import { KernelError } from '@troupe/kernel'
import type { Connection } from '../connection/connection.ts'
import type { LiveCall } from '../connection/live-call.ts'

/** The attempt of a run that waits for a call. */
export interface Attempt extends Omit<LiveCall, 'questionCancelled'> {
  readonly signal: AbortSignal
  onProgress(progress: Progress): void
}

/** A question that the server has asked and that a person has not answered yet. */
interface OpenQuestion {
  readonly params: ElicitRequestParams
  resolve(result: ElicitResult | Promise<ElicitResult>): void
}

/** A call on its way. Contract: it outlives an attempt that ended with a question, so that the next attempt answers it instead of calling again. */
export class OpenCall<T> implements LiveCall {
  questionCancelled = false
  readonly connection: Connection
  readonly #stop = new AbortController()
  readonly #result: Promise<T>
  #attempt: Attempt | undefined
  #interrupt: ((error: unknown) => void) | undefined
  #question: OpenQuestion | undefined

  constructor(
    connection: Connection,
    send: (signal: AbortSignal, onprogress: (progress: Progress) => void) => Promise<T>,
    attempt: Attempt,
  ) {
    this.connection = connection
    this.#attempt = attempt
    this.#result = send(this.#stop.signal, (progress) => this.#attempt?.onProgress(progress))
    this.#result.catch(() => undefined)
  }

  /** Whether a question is open, so that the call can wait for the next attempt. */
  get asks(): boolean {
    return this.#question !== undefined
  }

  /** Calls back once the call has ended, whatever came of it. */
  onEnd(ended: () => void): void {
    this.#result.then(ended, ended)
  }

  /** The result of the call. Contract: rejects with `INTERRUPTED` where a person is asked, and stops the call if the attempt is stopped. */
  async wait(attempt: Attempt): Promise<T> {
    const { signal } = attempt
    const stop = () => this.#stop.abort(signal.reason)
    this.#attempt = attempt
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    try {
      const interrupted = new Promise<never>((_resolve, reject) => {
        this.#interrupt = reject
      })
      const question = this.#question
      this.#question = undefined
      question?.resolve(this.ask(question.params))
      return await Promise.race([this.#result, interrupted])
    } finally {
      signal.removeEventListener('abort', stop)
      this.#attempt = undefined
      this.#interrupt = undefined
    }
  }

  async ask(params: ElicitRequestParams): Promise<ElicitResult> {
    try {
      return this.#attempt ? await this.#attempt.ask(params) : await this.#later(params)
    } catch (error) {
      if (!KernelError.is(error, 'INTERRUPTED')) throw error
      const answered = this.#later(params)
      this.#interrupt?.(error)
      return answered
    }
  }

  sample(params: CreateMessageRequestParams): Promise<CreateMessageResult> {
    if (this.#attempt) return this.#attempt.sample(params)
    return Promise.reject(new Error('nobody waits for the call any more'))
  }

  #later(params: ElicitRequestParams): Promise<ElicitResult> {
    return new Promise((resolve) => {
      this.#question = { params, resolve }
    })
  }
}
