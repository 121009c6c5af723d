import { type Clock, KernelError, type RecordCommand, type RecordStore, type ThreadRef } from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames } from '@troupe/kernel/kit'
import type { RecordedRun } from '../record/recorded-run.ts'
import type { CommandSink } from '../record/run-records.ts'
import { type Entry, Lane, type LaneHost, type Settled } from './lane.ts'

/** The options of writing records. */
export interface WriteOptions {
  /** How long text may wait for more. @default 50 */
  readonly delayMs?: number
  /** The number of characters of one run that are written without waiting. @default 65536 */
  readonly maxText?: number
  /** The most commands in one write. @default 100 */
  readonly maxCommands?: number
  /** How often a write is tried before the store counts as down. @default 3 */
  readonly attempts?: number
  /** The first pause between attempts; each is twice the one before. @default 100 */
  readonly retryMs?: number
  /** The longest pause, also while the store is down. @default 30000 */
  readonly maxRetryMs?: number
  /** How long the store may take for one write. @default 10000 */
  readonly timeoutMs?: number
  /** The most commands that may wait, of all threads; beyond that new runs are not recorded. @default 10000 */
  readonly maxPending?: number
  /** How long `flush` waits. @default 10000 */
  readonly flushMs?: number
}

/** The parts that a queue is made from. */
export interface WriteQueueParts {
  readonly records: Pick<RecordStore, 'apply'>
  readonly clock: Clock
  readonly report: (error: KernelError) => void
  /** Called with each settled command. Contract: in the order of the thread's writes; the next write of the thread waits for it. */
  readonly settled: (entry: Entry, settled: Settled) => void | Promise<void>
}

const DEFAULTS: Required<WriteOptions> = {
  delayMs: 50,
  maxText: 65_536,
  maxCommands: 100,
  attempts: 3,
  retryMs: 100,
  maxRetryMs: 30_000,
  timeoutMs: 10_000,
  maxPending: 10_000,
  flushMs: 10_000,
}

const NAMES: OptionNames<WriteOptions> = {
  delayMs: true,
  maxText: true,
  maxCommands: true,
  attempts: true,
  retryMs: true,
  maxRetryMs: true,
  timeoutMs: true,
  maxPending: true,
  flushMs: true,
}

/** Writes record commands in the background. Contract: in order for each thread; adding never fails, waits or does I/O. */
export class WriteQueue implements CommandSink, LaneHost, AsyncDisposable {
  readonly maxCommands: number
  readonly attempts: number
  readonly #parts: WriteQueueParts
  readonly #options: Required<WriteOptions>
  readonly #lanes: Map<string, Lane> = new Map()
  /** Lanes whose commands wait for the next tick. */
  readonly #due: Set<Lane> = new Set()
  readonly #down: Set<Lane> = new Set()
  /** Cancel the timers of active writes. */
  readonly #limits: Set<() => void> = new Set()
  #pending = 0
  #cancelTick: (() => void) | undefined
  #full = false
  #closed = false

  constructor(parts: WriteQueueParts, options: WriteOptions = {}) {
    this.#parts = parts
    checkOptionNames('persistence: write', options, NAMES, { retries: 'attempts' })
    this.#options = { ...DEFAULTS, ...options }
    for (const [name, value] of Object.entries(this.#options)) {
      const least = name === 'delayMs' ? 0 : 1
      checkOption(
        Number.isInteger(value) && value >= least,
        'persistence',
        `${name} must be a whole number from ${least} on`,
        value,
      )
    }
    this.maxCommands = this.#options.maxCommands
    this.attempts = this.#options.attempts
  }

  enter(run: RecordedRun): void {
    const { ref, parent } = run
    const key = `${ref.app}\0${ref.user}\0${ref.threadId}`
    const lane = this.#lanes.get(key) ?? new Lane(ref, key, this)
    this.#lanes.set(key, lane)
    run.lane = lane
    lane.runs++
    if (parent?.refused) run.refused = true
    else if (!parent && this.#pending >= this.#options.maxPending) this.#leaveOut(run)
  }

  add(run: RecordedRun, command: RecordCommand): void {
    const { lane } = run
    if (!lane || this.#closed) return
    lane.add(run, command)
    if (command.type === 'run-finish') lane.runs--
    if (command.type === 'run-start' || command.type === 'run-finish' || lane.pending >= this.maxCommands) lane.soon()
    else this.#wait(lane)
  }

  /** Contract: cheap if the text is already queued. */
  touch(run: RecordedRun): void {
    if (run.queued) {
      if (run.text.waiting >= this.#options.maxText) run.lane?.soon()
    } else if (run.lane && !run.refused && !this.#closed) {
      run.lane.touch(run)
      if (run.text.waiting >= this.#options.maxText) run.lane.soon()
      else this.#wait(run.lane)
    }
  }

  /** Contract: resolves when all records so far, of one thread or of all, are written or refused; rejects with `RECORDS_PENDING` after `flushMs`. */
  async flush(ref?: ThreadRef): Promise<void> {
    const lane = ref && this.#lanes.get(`${ref.app}\0${ref.user}\0${ref.threadId}`)
    const lanes = ref ? (lane ? [lane] : []) : [...this.#lanes.values()]
    const { flushMs } = this.#options
    const all = Promise.all(lanes.map((each) => each.flushed()))
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#parts.clock.after(flushMs, () => reject(this.#stillPending(lanes)))
      all.then(() => {
        cancel()
        resolve()
      })
    })
  }

  /** Contract: writes the waiting records, then nothing more; rejects with `RECORDS_PENDING` if that takes too long. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    try {
      await this.flush()
    } finally {
      this.#closed = true
      this.#cancelTick?.()
      const lanes = [...this.#lanes.values()]
      const left = lanes.flatMap((lane) => lane.stop())
      if (left.length > 0) this.#giveUp(left, this.#stillPending(lanes))
      this.#lanes.clear()
      for (const cancel of this.#limits) cancel()
    }
  }

  apply(ref: ThreadRef, commands: readonly RecordCommand[]): ReturnType<RecordStore['apply']> {
    return this.limited(() => this.#parts.records.apply(ref, commands))
  }

  /** Contract: rejects with a retryable `TIMEOUT` when the store takes too long. */
  limited<T>(work: () => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options
    return new Promise((resolve, reject) => {
      const late = () =>
        reject(
          new KernelError('TIMEOUT', `records: the store exceeded its time limit of ${timeoutMs} ms`, {
            retryable: true,
          }),
        )
      const cancelTimer = this.#parts.clock.after(timeoutMs, late, false)
      const done = () => {
        cancelTimer()
        this.#limits.delete(done)
      }
      this.#limits.add(done)
      const failed = (error: unknown) => {
        done()
        reject(error)
      }
      try {
        work().then((value) => {
          done()
          resolve(value)
        }, failed)
      } catch (error) {
        failed(error)
      }
    })
  }

  pause(failures: number, callback: () => void): () => void {
    const { retryMs, maxRetryMs } = this.#options
    const ms = Math.min(maxRetryMs, retryMs * 2 ** Math.min(failures - 1, 30))
    // The timer does not hold the process; `flush` does.
    return this.#parts.clock.after(ms, callback, false)
  }

  added(): void {
    this.#pending++
  }

  settled(entry: Entry, settled: Settled): void | Promise<void> {
    this.#pending--
    return this.#parts.settled(entry, settled)
  }

  failing(lane: Lane, cause: KernelError): void {
    const first = this.#down.size === 0
    this.#down.add(lane)
    if (!first || this.#closed) return
    const message = `records: the store cannot be written; runs go on and their records wait: ${cause.message}`
    this.#parts.report(new KernelError('RECORDS_DEGRADED', message, { cause, retryable: true }))
  }

  wrote(lane: Lane): void {
    if (!this.#down.delete(lane)) return
    this.#full = false
    for (const other of this.#down) other.probe()
  }

  idle(lane: Lane): void {
    // A removed lane may be woken once more, after its thread has got a new one.
    if (lane.runs <= 0 && lane.empty && this.#lanes.get(lane.key) === lane) this.#lanes.delete(lane.key)
  }

  #wait(lane: Lane): void {
    this.#due.add(lane)
    const write = () => {
      this.#cancelTick = undefined
      for (const each of this.#due) each.soon()
      this.#due.clear()
    }
    this.#cancelTick ??= this.#parts.clock.after(this.#options.delayMs, write, false)
  }

  /** Contract: a run is recorded whole or not at all. */
  #leaveOut(run: RecordedRun): void {
    run.refused = run.reported = true
    if (this.#full) return
    this.#full = true
    const message = `records: new runs are not recorded, because ${this.#pending} commands wait for the store`
    this.#parts.report(new KernelError('RECORDS_DROPPED', message))
  }

  #giveUp(entries: readonly Entry[], cause: KernelError): void {
    for (const entry of entries) void this.settled(entry, { refused: true, cause })
  }

  #stillPending(lanes: readonly Lane[]): KernelError {
    const pending = lanes.reduce((sum, lane) => sum + lane.pending, 0)
    return new KernelError('RECORDS_PENDING', `records: not all are written, ${pending} still wait`, {
      retryable: true,
      details: { pending },
    })
  }
}
