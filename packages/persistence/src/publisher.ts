import { type Awaitable, type Clock, KernelError } from '@troupe/kernel'

const HANG_MS = 10_000

/** Calls a function of the app and isolates its failures. Contract: never throws or waits; reports the first failure. */
export class Publisher<Args extends readonly unknown[]> {
  readonly #name: string
  readonly #call: ((...args: Args) => Awaitable<void>) | undefined
  readonly #clock: Clock
  readonly #report: (error: KernelError) => void
  readonly #pending: Set<{ readonly since: number }> = new Set()
  #cancelHangCheck: (() => void) | undefined
  #reported = false

  constructor(
    name: string,
    call: ((...args: Args) => Awaitable<void>) | undefined,
    clock: Clock,
    report: (error: KernelError) => void,
  ) {
    this.#name = name
    this.#call = call
    this.#clock = clock
    this.#report = report
  }

  publish(...args: Args): void {
    if (!this.#call) return
    try {
      const returned: unknown = this.#call(...args)
      if (returned) this.#watch(returned)
    } catch (error) {
      this.#failed(error)
    }
  }

  stop(): void {
    this.#cancelHangCheck?.()
    this.#cancelHangCheck = undefined
  }

  #watch(returned: unknown): void {
    const call = { since: this.#clock.now() }
    this.#pending.add(call)
    this.#checkLater()
    const settled = () => {
      this.#pending.delete(call)
      if (this.#pending.size === 0) this.stop()
    }
    Promise.resolve(returned).then(settled, (error: unknown) => {
      settled()
      this.#failed(error)
    })
  }

  #checkLater(): void {
    if (this.#reported) return
    const check = () => {
      this.#cancelHangCheck = undefined
      const [oldest] = this.#pending
      if (!oldest) return
      if (this.#clock.now() - oldest.since >= HANG_MS) this.#failed(`still pending after ${HANG_MS} ms`)
      else this.#checkLater()
    }
    this.#cancelHangCheck ??= this.#clock.after(HANG_MS, check, false)
  }

  #failed(cause: unknown): void {
    if (this.#reported) return
    this.#reported = true
    this.#report(KernelError.within(`${this.#name}: `, cause, 'CALLBACK_FAILED', { callback: this.#name }))
  }
}
