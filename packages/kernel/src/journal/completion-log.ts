import type { Journal } from '../agent/journal.ts'
import type { Json } from '../data/json.ts'
import { got, KernelError } from '../data/kernel-error.ts'
import { nextMacrotask } from '../kit/next-macrotask.ts'

/** A finished step: its name, its record, and the attempt that recorded it. */
export type JournalEntry = { readonly step: string; readonly by: number; readonly value: Json }

/** Gives the entries that were recorded next; at the end of what was recorded, those of `work`, and records them. Contract: called again only when it has settled. */
export type RecordOnce = (work: () => Promise<readonly JournalEntry[]>) => Promise<readonly JournalEntry[]>

/** Options of `CompletionLog`. */
export interface CompletionLogOptions extends Pick<Journal, 'shown' | 'unknownCalls'> {
  readonly runId: string
  /** The number of this attempt to carry out the run, and that of the attempt which opened it. */
  readonly attempt: number
  readonly openedBy: number
  readonly once: RecordOnce
}

interface Waiter {
  readonly work: () => Promise<Json>
  readonly lost: (() => Json | Promise<Json>) | undefined
  readonly settled: PromiseWithResolvers<Json>
}

/**
 * Records steps by name as they finish, and gives them back in that order.
 * Contract: steps run side by side, but are recorded one after the other, so that the order between parallel branches cannot
 * differ from attempt to attempt; a step counts only once it is recorded.
 */
export class CompletionLog implements Journal {
  readonly #options: CompletionLogOptions
  /** What all steps of the run begin with; it is not recorded. */
  readonly #prefix: string
  readonly #waiting: Map<string, Waiter> = new Map()
  /** Recorded steps that nobody has asked for yet. */
  readonly #early: Map<string, Json> = new Map()
  /** The attempt that recorded a step; empty in the first attempt. */
  readonly #recordedBy: Map<string, number> = new Map()
  readonly #asked: Map<string, number> = new Map()
  #finished: JournalEntry[] = []
  #wake: (() => void) | undefined
  #pumping = false
  /** Whether there was an attempt before this one. */
  #isRepeated: boolean
  /** Whether the end of what was recorded has been reached. */
  #live = false
  #retelling = false
  readonly shown?: NonNullable<Journal['shown']>
  readonly unknownCalls?: NonNullable<Journal['unknownCalls']>

  constructor(options: CompletionLogOptions) {
    this.#options = options
    this.#prefix = `${options.runId}/`
    this.#isRepeated = options.openedBy !== options.attempt
    if (options.shown) this.shown = options.shown
    if (options.unknownCalls) this.unknownCalls = options.unknownCalls
  }

  perform<T extends Json>(step: string, work: () => Promise<T>, lost?: () => T | Promise<T>): Promise<T> {
    if (typeof step !== 'string' || step === '') {
      return Promise.reject(new KernelError('VALIDATION_FAILED', `journal: expected the name of a step, ${got(step)}`))
    }
    const name = this.#nameOf(step)
    const recorded = this.#early.get(name)
    if (recorded !== undefined) {
      this.#early.delete(name)
      return Promise.resolve(recorded as T)
    }
    const settled = Promise.withResolvers<Json>()
    const waiter: Waiter = { work, lost, settled }
    this.#waiting.set(name, waiter)
    if (this.#live) this.#start(name, waiter)
    if (!this.#pumping) void this.#pump()
    return settled.promise as Promise<T>
  }

  /** Whether a step that was done before is being told. */
  get retelling(): boolean {
    return this.#retelling
  }

  retell<T>(write: () => T): T {
    this.#retelling = true
    try {
      return write()
    } finally {
      this.#retelling = false
    }
  }

  hasLeft(prefix: string): boolean {
    const own = prefix.startsWith(this.#prefix) ? prefix.slice(this.#prefix.length) : prefix
    for (const name of this.#early.keys()) if (name.startsWith(own)) return true
    return false
  }

  /** The name of a step within its root run; a step that is asked for again gets a number. */
  #nameOf(step: string): string {
    const name = step.startsWith(this.#prefix) ? step.slice(this.#prefix.length) : step
    const count = (this.#asked.get(name) ?? 0) + 1
    this.#asked.set(name, count)
    return count === 1 ? name : `${name}~${count}`
  }

  async #pump(): Promise<void> {
    this.#pumping = true
    try {
      while (this.#waiting.size > 0) {
        // Whoever waits for an earlier step asks for its next one first.
        if (!this.#live) await nextMacrotask()
        const entries = await this.#options.once(() => this.#next())
        for (let i = 0; i < entries.length; i++) {
          if (i > 0) await nextMacrotask()
          this.#deliver(entries[i] as JournalEntry)
        }
      }
    } catch (error) {
      for (const { settled } of this.#waiting.values()) settled.reject(error)
      this.#waiting.clear()
    } finally {
      this.#pumping = false
    }
  }

  /** Waits until steps have finished. Contract: called only at the end of what was recorded. */
  async #next(): Promise<readonly JournalEntry[]> {
    if (!this.#live) {
      this.#live = true
      // Work may ask for further steps as it begins; those start by themselves.
      for (const [name, waiter] of [...this.#waiting]) this.#start(name, waiter)
    }
    while (this.#finished.length === 0 && this.#waiting.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    const entries = this.#finished
    this.#finished = []
    return entries
  }

  #start(name: string, waiter: Waiter): void {
    const { attempt: by } = this.#options
    const { lost, work, settled } = waiter
    begin(lost && this.#mayHaveBegun(name) ? lost : work).then(
      (value) => {
        this.#finished.push({ step: name, by, value })
        this.#wake?.()
      },
      (error: unknown) => {
        if (this.#waiting.get(name) === waiter) this.#waiting.delete(name)
        settled.reject(error)
        this.#wake?.()
      },
    )
  }

  #deliver({ step, by, value }: JournalEntry): void {
    this.#isRepeated ||= by !== this.#options.attempt
    if (this.#isRepeated) this.#recordedBy.set(step, by)
    const waiter = this.#waiting.get(step)
    this.#waiting.delete(step)
    if (waiter) waiter.settled.resolve(value)
    else this.#early.set(step, value)
  }

  /** Whether an earlier attempt may have begun a call: it did if it recorded the model call that asked for it, or opened the run with it. */
  #mayHaveBegun(name: string): boolean {
    const { attempt, openedBy } = this.#options
    if (!this.#isRepeated) return false
    const asker = name.replace(/tool:(\d+):\d+(~\d+)?$/, 'model:$1$2')
    return (this.#recordedBy.get(asker) ?? openedBy) !== attempt
  }
}

/** Begins work. Contract: work that throws at once rejects too, so that it disturbs no other step. */
function begin(work: () => Json | Promise<Json>): Promise<Json> {
  try {
    return Promise.resolve(work())
  } catch (error) {
    return Promise.reject(error)
  }
}
