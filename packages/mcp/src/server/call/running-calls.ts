import { type Clock, KernelError } from '@troupe/kernel'
import { withinTime } from '@troupe/kernel/kit'

/** How long stopped calls may take to end. */
const ENDING_MS = 10_000

/** One call under way. */
interface RunningCall {
  readonly user: string
  readonly controller: AbortController
  readonly done: Promise<void>
}

/** The calls of this process: their number is limited, and they are stopped with the server. */
export class RunningCalls {
  readonly #clock: Clock
  readonly #max: number
  readonly #maxPerUser: number
  readonly #calls: Set<RunningCall> = new Set()
  #stopping = false

  constructor(clock: Clock, max: number, maxPerUser: number) {
    this.#clock = clock
    this.#max = max
    this.#maxPerUser = maxPerUser
  }

  get size(): number {
    return this.#calls.size
  }

  /** Contract: throws `SERVER_STOPPING`, `USER_LIMIT` or `EXECUTION_LIMIT`; the signal of the work aborts with that of its request. */
  async run<T>(user: string, request: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#check(user)
    const controller = new AbortController()
    const leave = () => controller.abort(new KernelError('ABORTED', 'mcp: the client cancelled the call'))
    if (request.aborted) leave()
    request.addEventListener('abort', leave)
    const { promise, resolve } = Promise.withResolvers<void>()
    const call = { user, controller, done: promise }
    this.#calls.add(call)
    try {
      return await work(controller.signal)
    } finally {
      request.removeEventListener('abort', leave)
      this.#calls.delete(call)
      resolve()
    }
  }

  #check(user: string): void {
    if (this.#stopping) throw new KernelError('SERVER_STOPPING', 'The server is stopping. Try again.')
    let own = 0
    for (const call of this.#calls) if (call.user === user) own++
    if (own >= this.#maxPerUser) {
      const message = `call: the limit of ${this.#maxPerUser} concurrent calls per user is reached`
      throw new KernelError('USER_LIMIT', message, { retryable: true })
    }
    if (this.#calls.size < this.#max) return
    const message = `call: the limit of ${this.#max} concurrent calls is reached`
    throw new KernelError('EXECUTION_LIMIT', message, { retryable: true })
  }

  /** Refuses new calls, waits `graceMs` for those under way, then stops them. */
  async stopAll(graceMs: number): Promise<void> {
    this.#stopping = true
    if (await this.#empty(graceMs)) return
    for (const { controller } of this.#calls) controller.abort(new KernelError('ABORTED', 'server: stopped'))
    await this.#empty(ENDING_MS)
  }

  #empty(ms: number): Promise<boolean> {
    const all = Promise.all(Array.from(this.#calls, ({ done }) => done)).then(() => true)
    return withinTime(this.#clock, ms, all, () => false)
  }
}
