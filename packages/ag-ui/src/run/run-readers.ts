import { type Clock, KernelError } from '@troupe/kernel'

/** Counts the connections that follow a run, and stops a run that nobody follows for too long. */
export class RunReaders {
  readonly #clock: Clock
  readonly #detachedMs: number
  readonly #run: { readonly ended: Promise<void>; stop(reason: KernelError): void }
  #count = 0
  #isLeft = false
  #left: PromiseWithResolvers<void> = Promise.withResolvers()
  #cancelTimer: (() => void) | undefined
  #over = false

  /** Contract: the time begins at once, because a run may never get a reader. */
  constructor(
    clock: Clock,
    detachedMs: number,
    run: { readonly ended: Promise<void>; stop(reason: KernelError): void },
  ) {
    this.#clock = clock
    this.#detachedMs = detachedMs
    this.#run = run
    this.#start()
    void run.ended.then(() => {
      this.#over = true
      this.#cancelTimer?.()
    })
  }

  /** Resolves when all of its readers are gone. */
  get left(): Promise<void> {
    return this.#left.promise
  }

  join(): void {
    if (this.#isLeft) this.#left = Promise.withResolvers()
    this.#isLeft = false
    this.#count++
    this.#cancelTimer?.()
  }

  /** Contract: gives the number of readers that are left. */
  leave(): number {
    this.#count--
    if (this.#count === 0) {
      this.#isLeft = true
      this.#left.resolve()
    }
    if (this.#count === 0 && !this.#over) this.#start()
    return this.#count
  }

  #start(): void {
    if (!Number.isFinite(this.#detachedMs)) return
    const stop = () => {
      const message = `run: nobody has followed it for ${this.#detachedMs} ms`
      this.#run.stop(new KernelError('EXECUTION_TIMEOUT', message, { details: { detachedMs: this.#detachedMs } }))
    }
    this.#cancelTimer = this.#clock.after(this.#detachedMs, stop, false)
  }
}
