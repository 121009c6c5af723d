import type { Clock } from '@troupe/kernel'
import { withinTime } from '@troupe/kernel/kit'
import { Attempt, type AttemptParts } from './attempt.ts'
import type { EngineAttempt } from './engine.ts'
import type { RunOrder } from './run-order.ts'

/** The attempts of a process. */
export class DurableWorker {
  readonly #clock: Clock
  readonly #active: Map<Attempt, Promise<unknown>> = new Map()
  #stopping = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The number of attempts under way. */
  get size(): number {
    return this.#active.size
  }

  /** Carries out a run. Contract: rejects where the engine has to try again; `onAttempt` gets the attempt, to cancel it. */
  async carryOut(
    parts: AttemptParts,
    order: RunOrder,
    engine: EngineAttempt,
    onAttempt: (attempt: Pick<Attempt, 'cancel'>) => void,
  ): Promise<void> {
    const attempt = new Attempt(parts, order, engine)
    onAttempt(attempt)
    const gone = new Promise<void>((resolve) => engine.gone.addEventListener('abort', () => resolve(), { once: true }))
    const done = attempt.carryOut()
    this.#active.set(attempt, Promise.race([Promise.allSettled([done]), gone]))
    if (this.#stopping) void attempt.handOver()
    try {
      await done
    } finally {
      this.#active.delete(attempt)
    }
  }

  /** Hands all runs over to other workers. Contract: after `graceMs` those that are not at the end of a step are left as they are. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    const ends = [...this.#active].map(async ([attempt, ended]) => {
      await Promise.race([attempt.handOver(), ended])
      await ended
    })
    await withinTime(this.#clock, graceMs, Promise.all(ends).then(ignore), ignore)
  }
}

function ignore(): void {}
