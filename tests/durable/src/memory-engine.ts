import { DurableWorker, type Engine, type EngineAttempt, type RunnerHost, type RunOrder } from '@troupe/durable'
import type { Runner, Store } from '@troupe/kernel'
import { nextMacrotask, systemClock } from '@troupe/kernel/kit'

/** When an attempt is given up: before or after the engine has recorded so many entries. */
export interface GiveUp {
  readonly when: 'before' | 'after'
  readonly entry: number
}

/** An engine in memory, which gives attempts up and makes others, as one does whose workers die. */
export class MemoryEngine implements Engine {
  worker: DurableWorker = new DurableWorker(systemClock)
  readonly entries: string[] = []
  attempts = 0
  readonly #parts: Parameters<DurableWorker['carryOut']>[0]
  readonly #giveUps: readonly GiveUp[]
  readonly #carried: Set<string> = new Set()
  #given = 0
  #current: AbortController | undefined
  /** How many entries there are when the worker stops, and another one comes. */
  #handOverAt: number | undefined

  constructor(
    store: Store,
    runner: (host: RunnerHost) => Runner,
    giveUps: readonly GiveUp[] = [],
    handOverAt?: number,
  ) {
    const maxStepChars = 1_000_000
    this.#parts = { store, clock: systemClock, runner, shared: [], restore: undefined, maxStepChars }
    this.#giveUps = giveUps
    this.#handOverAt = handOverAt
  }

  async submit(order: RunOrder): Promise<void> {
    void this.#carry(order)
  }

  async cancel(): Promise<void> {}

  async carries({ runId }: Pick<RunOrder, 'runId'>): Promise<boolean> {
    return this.#carried.has(runId)
  }

  /** Gives up the attempt that is under way. */
  giveUp(): void {
    this.#current?.abort()
  }

  async #carry(order: RunOrder): Promise<void> {
    this.#carried.add(order.runId)
    for (let done = false; !done; ) {
      this.attempts++
      const gone = new AbortController()
      this.#current = gone
      const given = new Promise<false>((resolve) => gone.signal.addEventListener('abort', () => resolve(false)))
      const engine: EngineAttempt = { once: this.#once(gone), gone: gone.signal }
      const carried = this.worker.carryOut(this.#parts, order, engine, () => undefined)
      done = await Promise.race([
        given,
        carried.then(
          () => true,
          () => false,
        ),
      ])
      gone.abort()
    }
    this.#carried.delete(order.runId)
  }

  #once(gone: AbortController): EngineAttempt['once'] {
    let at = 0
    return async (work) => {
      const recorded = this.entries[at]
      if (recorded !== undefined) {
        at++
        return recorded
      }
      if (this.#handOverAt === this.entries.length) this.#handOver()
      const text = await work()
      // To record takes a moment, in which other things happen.
      for (let turn = 0; turn < 10; turn++) await nextMacrotask()
      if (gone.signal.aborted) return never()
      if (this.#givesUp('before', gone)) return never()
      this.entries.push(text)
      at++
      return this.#givesUp('after', gone) ? never() : text
    }
  }

  /** Stops the worker in the middle of things, as SIGTERM does. */
  #handOver(): void {
    this.#handOverAt = undefined
    void this.worker.stop(60_000)
    this.worker = new DurableWorker(systemClock)
  }

  #givesUp(when: GiveUp['when'], gone: AbortController): boolean {
    const next = this.#giveUps[this.#given]
    if (next?.when !== when || next.entry !== this.entries.length) return false
    this.#given++
    gone.abort()
    return true
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}
