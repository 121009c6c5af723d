import type { Journal, Json, ModelPart, RunContext } from '@troupe/kernel'
import { never } from './given-up.ts'

/** Knows which steps of an attempt are under way, and can let no more begin. */
export class StepGate {
  readonly #gone: AbortSignal
  readonly #underWay: Set<Promise<unknown>> = new Set()
  #held = false

  constructor(gone: AbortSignal) {
    this.#gone = gone
  }

  /** Lets no more steps begin, and waits until those that have begun are recorded. */
  async hold(): Promise<void> {
    this.#held = true
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  /** Goes around a journal. Contract: a step that must not begin waits for ever. */
  around(journal: Journal): Journal {
    return new HeldJournal(journal, this)
  }

  get closed(): boolean {
    return this.#held || this.#gone.aborted
  }

  /** Does a step. Contract: `work` is called back when the step really begins, if it does. */
  async pass<T>(perform: (begin: <R>(work: () => Promise<R>) => Promise<R>) => Promise<T>): Promise<T> {
    if (this.closed) return never()
    const settled = Promise.withResolvers<void>()
    const begin = <R>(work: () => Promise<R>): Promise<R> => {
      if (this.closed) return never()
      this.#underWay.add(settled.promise)
      return work()
    }
    try {
      return await perform(begin)
    } finally {
      this.#underWay.delete(settled.promise)
      settled.resolve()
    }
  }
}

class HeldJournal implements Journal {
  readonly #journal: Journal
  readonly #gate: StepGate
  readonly unknownCalls?: NonNullable<Journal['unknownCalls']>
  readonly shown?: (ctx: RunContext) => readonly ModelPart[]
  readonly retell?: <T>(write: () => T) => T
  readonly hasLeft?: (prefix: string) => boolean

  constructor(journal: Journal, gate: StepGate) {
    this.#journal = journal
    this.#gate = gate
    if (journal.unknownCalls) this.unknownCalls = journal.unknownCalls
    if (journal.shown) this.shown = journal.shown.bind(journal)
    if (journal.retell) this.retell = journal.retell.bind(journal) as <T>(write: () => T) => T
    if (journal.hasLeft) this.hasLeft = journal.hasLeft.bind(journal)
  }

  perform<T extends Json>(step: string, work: () => Promise<T>, lost?: () => T | Promise<T>): Promise<T> {
    return this.#gate.pass((begin) =>
      this.#journal.perform(step, () => begin(work), lost && (() => begin(async () => lost()))),
    )
  }
}
