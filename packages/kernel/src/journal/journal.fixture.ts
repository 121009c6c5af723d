import { CompletionLog, type CompletionLogOptions, type JournalEntry, type RecordOnce } from '../journal.ts'

/** A journal in memory: the batches recorded so far, as JSON texts, so that nothing but JSON survives. */
export class MemoryJournal {
  readonly batches: string[]
  #next = 0
  /** Whether a call of `once` has not settled. */
  busy = false

  constructor(batches: readonly string[] = []) {
    this.batches = [...batches]
  }

  /** Contract: fails if it is called before it has settled. */
  readonly once: RecordOnce = async (work) => {
    if (this.busy) throw new Error('once was called twice at a time')
    this.busy = true
    try {
      if (this.#next === this.batches.length) this.batches.push(JSON.stringify(await work()))
      return JSON.parse(this.batches[this.#next++] as string)
    } finally {
      this.busy = false
    }
  }

  get entries(): readonly JournalEntry[] {
    return this.batches.flatMap((batch) => JSON.parse(batch) as JournalEntry[])
  }

  get steps(): readonly string[] {
    return this.entries.map(({ step }) => step)
  }
}

/** An attempt at the run `r`, the first one unless `options` say otherwise. */
export function attempt(once: RecordOnce, options: Partial<CompletionLogOptions> = {}): CompletionLog {
  return new CompletionLog({ runId: 'r', attempt: 1, openedBy: 1, once, ...options })
}

/** A journal with these entries, each recorded alone by the first attempt. */
export function journalOf(entries: Readonly<Record<string, JournalEntry['value']>>): MemoryJournal {
  const batches = Object.entries(entries).map(([step, value]) => JSON.stringify([{ step, by: 1, value }]))
  return new MemoryJournal(batches)
}
