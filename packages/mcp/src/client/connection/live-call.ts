import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
} from '@modelcontextprotocol/client'

/** A call that a server is working on: it answers what the server asks meanwhile. */
export interface LiveCall {
  /** Set when a question was cancelled because nobody could tell which call it belongs to. */
  questionCancelled: boolean
  ask(params: ElicitRequestParams): Promise<ElicitResult>
  sample(params: CreateMessageRequestParams): Promise<CreateMessageResult>
}

/** The calls under way on one connection, and the questions that came in meanwhile. */
export class LiveCalls {
  readonly #calls = new Set<LiveCall>()
  readonly #waiting: ((call: LiveCall | undefined) => void)[] = []
  #entry: (() => void)[] = []
  /** The server asks: from then on one call at a time, so that each question has one call it can belong to. */
  #oneByOne = false

  get size(): number {
    return this.#calls.size
  }

  /** Waits until a call may begin. Contract: gives back nothing where it may begin at once. */
  whenOpen(): Promise<void> | undefined {
    if (this.#isOpen) return undefined
    return new Promise<void>((resolve) => this.#entry.push(resolve)).then(() => this.whenOpen())
  }

  add(call: LiveCall): void {
    this.#calls.add(call)
  }

  leave(call: LiveCall): void {
    this.#calls.delete(call)
    this.#settle()
    if (this.#entry.length === 0 || !this.#isOpen) return
    const [entry, rest] = this.#oneByOne ? [this.#entry.slice(0, 1), this.#entry.slice(1)] : [this.#entry, []]
    this.#entry = rest
    for (const resolve of entry) resolve()
  }

  /** The call that a question of the server belongs to; nothing if it cannot be told. Contract: the protocol does not say it, so a question waits until one call is left. */
  caller(): Promise<LiveCall | undefined> {
    this.#oneByOne = true
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#settle()
    })
  }

  get #isOpen(): boolean {
    return this.#waiting.length === 0 && !(this.#oneByOne && this.#calls.size > 0)
  }

  #settle(): void {
    if (this.#waiting.length === 0) return
    const [only] = this.#calls
    if (this.#calls.size <= 1) {
      this.#resolve(only)
      return
    }
    // Each call may be waiting for its question: nobody would go on.
    if (this.#waiting.length < this.#calls.size) return
    for (const call of this.#calls) call.questionCancelled = true
    this.#resolve(undefined)
  }

  #resolve(call: LiveCall | undefined): void {
    for (const resolve of this.#waiting.splice(0)) resolve(call)
  }
}
