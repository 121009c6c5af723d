import type { Count, CounterStore, Owner } from '@troupe/kernel'

/** Counters of a store, or those of one run, which need not be waited for. */
export interface Counters {
  add(owner: Owner, counts: readonly Count[]): readonly number[] | Promise<readonly number[]>
  prune: CounterStore['prune']
}

/** The counters of one run, which go with it. */
export class RunCounters implements Counters {
  readonly #values = new Map<string, number>()

  add(_: Owner, counts: readonly Count[]): readonly number[] {
    return counts.map(({ name, by }) => {
      const value = (this.#values.get(name) ?? 0) + by
      this.#values.set(name, value)
      return value
    })
  }

  async prune(): Promise<number> {
    return 0
  }
}
