import { type AgentEvent, type CancelMode, type Clock, KernelError, type Sink } from '@troupe/kernel'
import type { RunnerLimits } from './limits.ts'

const MODES: readonly CancelMode[] = ['after-tools', 'after-model', 'now']

/** Looks after a run from time to time: its limits, its lease, and whether it is to stop. */
export class Watch {
  readonly #clock: Clock
  readonly #limits: Required<RunnerLimits>
  readonly #controller: AbortController
  readonly #renew: () => Promise<CancelMode | undefined> | undefined
  #signal: AbortSignal | undefined
  #cancelTimer: (() => void) | undefined
  #deadline = Number.POSITIVE_INFINITY
  #escalation = Number.POSITIVE_INFINITY
  #ended = false
  /** The last write that nobody has taken yet, and since when it has been looked at. */
  #parked: Promise<void> | undefined
  #seen: { readonly write: Promise<void>; readonly since: number } | undefined
  cancelling: CancelMode | undefined

  constructor(
    clock: Clock,
    limits: Required<RunnerLimits>,
    controller: AbortController,
    renew: () => Promise<CancelMode | undefined> | undefined,
  ) {
    this.#clock = clock
    this.#limits = limits
    this.#controller = controller
    this.#renew = renew
  }

  /** Aborts with a signal of the caller. */
  follow(signal: AbortSignal | undefined): void {
    this.#signal = signal
    if (signal?.aborted) this.#abort()
    else signal?.addEventListener('abort', this.#abort)
  }

  begin(): void {
    if (this.#ended) return
    this.#deadline = this.#clock.now() + this.#limits.runMs
    this.#schedule()
  }

  end(): void {
    this.#ended = true
    this.#cancelTimer?.()
    this.#signal?.removeEventListener('abort', this.#abort)
  }

  /** Contract: a harder wish replaces a softer one; a soft one becomes hard in time. */
  cancel(mode: CancelMode): void {
    if (MODES.indexOf(mode) <= MODES.indexOf(this.cancelling ?? ('' as CancelMode))) return
    this.cancelling = mode
    if (mode === 'now') this.#controller.abort(new KernelError('ABORTED', 'run: cancelled'))
    if (mode === 'now' || this.#escalation !== Number.POSITIVE_INFINITY) return
    this.#escalation = this.#clock.now() + this.#limits.cancelMs
    this.#schedule()
  }

  /** Remembers writes that wait; costs next to nothing for those that do not. */
  watching(sink: Sink<AgentEvent>): Sink<AgentEvent> {
    const watch = this
    return {
      get closed() {
        return sink.closed ?? false
      },
      write(event) {
        const wait = sink.write(event)
        if (wait) watch.#parked = wait
        return wait
      },
    }
  }

  #abort = (): void => this.#controller.abort(this.#signal?.reason)

  #schedule(): void {
    this.#cancelTimer?.()
    if (this.#ended) return
    const next = Math.min(this.#clock.now() + this.#limits.pollMs, this.#deadline, this.#escalation)
    this.#cancelTimer = this.#clock.after(Math.max(0, next - this.#clock.now()), () => {
      this.#look().catch((error: unknown) => this.#controller.abort(error))
    })
  }

  async #look(): Promise<void> {
    const now = this.#clock.now()
    const { runMs, idleMs } = this.#limits
    if (now >= this.#deadline) throw new KernelError('TIMEOUT', `run: took longer than ${runMs} ms`)
    if (now >= this.#escalation) this.cancel('now')
    if (this.#idleSince(now) >= idleMs) throw new KernelError('TIMEOUT', `run: nobody has read for ${idleMs} ms`)
    const wish = await this.#renew()
    if (wish) this.cancel(wish)
    this.#schedule()
  }

  #idleSince(now: number): number {
    const write = this.#parked
    if (write && this.#seen?.write !== write) {
      this.#seen = { write, since: now }
      const taken = () => {
        if (this.#parked === write) this.#parked = undefined
      }
      write.then(taken, taken)
    }
    return write && this.#seen ? now - this.#seen.since : 0
  }
}
