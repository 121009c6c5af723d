import { isDeepStrictEqual } from 'node:util'
import { JOURNAL, type Json, type RunContext } from '@troupe/kernel'
import { CompletionLog, type JournalEntry } from '@troupe/kernel/journal'
import type { SavedTape } from '../tape/saved-tape.ts'

/** Whether a step was stopped because of another one, for whatever reason it was stopped this time. */
function isStopped(record: Json): boolean {
  return (record as { readonly error?: { readonly code?: string } } | null)?.error?.code === 'ABORTED'
}

/** A step that was done again. */
export interface RedoneStep {
  readonly step: string
  /** Its record on the tape; undefined if it is not on it. */
  readonly before: Json | undefined
  readonly now: Json
}

/**
 * The first steps of a tape; the others are done again.
 * Contract: work of `ctx.perform` may give something else, since it may read the time or use chance, and the run goes on with what was recorded.
 */
export class RedoneSteps {
  /** The steps that gave something else than on the tape. */
  readonly differing: RedoneStep[] = []
  readonly #tape: SavedTape
  readonly #length: number
  #given = 0

  constructor(tape: SavedTape, length: number) {
    this.#tape = tape
    this.#length = length
  }

  get steps(): readonly string[] {
    return this.#tape.steps.slice(0, this.#given).map(({ step }) => step)
  }

  readonly prepare = (ctx: RunContext): RunContext => {
    const { runId } = ctx
    return ctx.with(JOURNAL, new CompletionLog({ runId, attempt: 1, openedBy: 1, once: (work) => this.#once(work) }))
  }

  async #once(work: () => Promise<readonly JournalEntry[]>): Promise<readonly JournalEntry[]> {
    if (this.#given === this.#length) return (await work()).map((entry) => this.#redone(entry))
    const recorded = this.#tape.steps[this.#given++]
    return recorded ? [{ ...recorded, by: 1 }] : []
  }

  #redone({ step, by, value }: JournalEntry): JournalEntry {
    const now = JSON.parse(JSON.stringify(value)) as Json
    const before = this.#tape.steps.find((recorded) => recorded.step === step)?.value
    const performed = /#\d+$/.test(step)
    if (before !== undefined && performed) return { step, by, value: before }
    if (!isDeepStrictEqual(now, before) && !isStopped(now)) this.differing.push({ step, before, now })
    return { step, by, value: now }
  }
}
