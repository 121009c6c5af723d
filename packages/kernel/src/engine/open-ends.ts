import type { KernelError } from '../data/kernel-error.ts'
import { remove } from './remove.ts'

/** An agent or a span that has begun and must be ended with its run. */
export interface OpenEnd {
  close(error: KernelError): void
}

/** The agents, spans and nested runs that must end before their run. */
export class OpenEnds {
  /** Few at a time, so an array is cheaper than a set. */
  readonly #open: OpenEnd[] = []
  #nested: Set<Promise<unknown>> | undefined

  get isEmpty(): boolean {
    return this.#open.length === 0
  }

  track(end: OpenEnd): void {
    this.#open.push(end)
  }

  untrack(end: OpenEnd): void {
    remove(this.#open, end)
  }

  /** Closes everything that is open, the latest first. */
  close(error: KernelError): void {
    for (const end of this.#open.toReversed()) end.close(error)
  }

  /** Tracks a nested run until it has settled. */
  trackRun<T>(run: Promise<T>): Promise<T> {
    this.#nested ??= new Set()
    this.#nested.add(run)
    const untrack = () => this.#nested?.delete(run)
    run.then(untrack, untrack)
    return run
  }

  /** Waits for the nested runs; undefined if there are none. */
  settleRuns(): Promise<unknown> | undefined {
    return this.#nested?.size ? Promise.allSettled(this.#nested) : undefined
  }
}
