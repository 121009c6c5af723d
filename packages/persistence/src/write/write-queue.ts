import { type Clock, KernelError, type RecordCommand, type RecordStore, type ThreadRef } from '@troupe/kernel'
import { withinTime } from '@troupe/kernel/kit'
import type { RecordedRun } from '../record/recorded-run.ts'
import { threadKey } from '../record/thread-key.ts'
import { Lane } from './lane.ts'
import { type WriteOptions, writeOptions } from './write-options.ts'

/** The parts that a queue is made from. */
interface WriteQueueParts {
  readonly records: Pick<RecordStore, 'apply'>
  readonly clock: Clock
  readonly report: (error: KernelError) => void
  /** Called with each written command. Contract: in the order of the thread's writes; the next write of the thread waits for it. */
  readonly written: (run: RecordedRun, command: RecordCommand) => void | Promise<void>
  /** Called with each command that was refused or given up. Contract: as `written`. */
  readonly refused: (run: RecordedRun, command: RecordCommand, cause?: KernelError) => void | Promise<void>
}

/** Writes record commands in the background. Contract: in order for each thread; adding never fails, waits or does I/O. */
export class WriteQueue implements AsyncDisposable {
  readonly maxCommands: number
  readonly attempts: number
  readonly #parts: WriteQueueParts
  readonly #options: Required<WriteOptions>
  readonly #lanes: Map<string, Lane> = new Map()
  /** The lanes of the runs that have not ended. */
  readonly #laneOf: Map<RecordedRun, Lane> = new Map()
  /** Lanes whose commands wait for the next tick. */
  readonly #due: Set<Lane> = new Set()
  readonly #down: Set<Lane> = new Set()
  /** Cancel the timers of active writes. */
  readonly #limits: Set<() => void> = new Set()
  /** Makes the timers of active writes, which do not hold the process and end with the queue. */
  readonly #limitClock: Clock
  #pending = 0
  #cancelTick: (() => void) | undefined
  #full = false
  #closed = false

  constructor(parts: WriteQueueParts, options: WriteOptions | undefined) {
    this.#parts = parts
    this.#options = writeOptions(options)
    this.maxCommands = this.#options.maxCommands
    this.attempts = this.#options.attempts
    const { clock } = parts
    this.#limitClock = { now: () => clock.now(), after: (ms, callback) => this.#limitTimer(ms, callback) }
  }

  enter(run: RecordedRun): void {
    const { ref, parent } = run
    const key = threadKey(ref)
    const lane = this.#lanes.get(key) ?? new Lane(ref, key, this)
    this.#lanes.set(key, lane)
    this.#laneOf.set(run, lane)
    lane.runs++
    if (parent?.refused) run.refused = true
    else if (!parent && this.#pending >= this.#options.maxPending) this.#leaveOut(run)
  }

  add(run: RecordedRun, command: RecordCommand): void {
    const lane = this.#laneOf.get(run)
    if (!lane || this.#closed) return
    lane.add(run, command)
    if (command.type === 'run-finish') {
      lane.runs--
      this.#laneOf.delete(run)
    }
    if (command.type === 'run-start' || command.type === 'run-finish' || lane.pending >= this.maxCommands) lane.soon()
    else this.#wait(lane)
  }

  /** Contract: cheap if the text is already queued. */
  touch(run: RecordedRun): void {
    const isLong = run.text.waiting >= this.#options.maxText
    if (run.queued && !isLong) return
    const lane = this.#laneOf.get(run)
    if (!lane || run.refused || this.#closed) return
    if (!run.queued) lane.touch(run)
    if (isLong) lane.soon()
    else this.#wait(lane)
  }

  /** Contract: resolves when all records so far, of one thread or of all, are written or refused; rejects with `RECORDS_PENDING` after `flushMs`. */
  async flush(ref?: ThreadRef): Promise<void> {
    const one = ref && this.#lanes.get(threadKey(ref))
    const lanes = ref ? (one ? [one] : []) : [...this.#lanes.values()]
    const { clock } = this.#parts
    const flushed = Promise.all(lanes.map((lane) => lane.flushed()))
    await withinTime(clock, this.#options.flushMs, flushed, () => {
      throw this.#stillPending(lanes)
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
      for (const lane of lanes) lane.stop()
      const error = this.#stillPending(lanes)
      for (const lane of lanes) lane.giveUp(error)
      this.#lanes.clear()
      this.#laneOf.clear()
      for (const cancel of this.#limits) cancel()
    }
  }

  apply(ref: ThreadRef, commands: readonly RecordCommand[]): ReturnType<RecordStore['apply']> {
    return this.limited(() => this.#parts.records.apply(ref, commands))
  }

  /** Contract: rejects with a retryable `TIMEOUT` when the store takes too long. */
  limited<T>(work: () => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options
    // A store that throws counts as one that rejects.
    const working = (async () => work())()
    return withinTime(this.#limitClock, timeoutMs, working, () => {
      const message = `records: the store exceeded its time limit of ${timeoutMs} ms`
      throw new KernelError('TIMEOUT', message, { retryable: true })
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

  written(run: RecordedRun, command: RecordCommand): void | Promise<void> {
    this.#pending--
    return this.#parts.written(run, command)
  }

  refused(run: RecordedRun, command: RecordCommand, cause?: KernelError): void | Promise<void> {
    this.#pending--
    return this.#parts.refused(run, command, cause)
  }

  failed(lane: Lane, cause: KernelError): void {
    const first = this.#down.size === 0
    this.#down.add(lane)
    if (!first || this.#closed) return
    const message = `records: the store cannot be written; runs go on and their records wait: ${cause.message}`
    this.#parts.report(new KernelError('RECORDS_DEGRADED', message, { cause, retryable: true }))
  }

  succeeded(lane: Lane): void {
    if (!this.#down.delete(lane)) return
    this.#full = false
    for (const other of this.#down) other.probe()
  }

  idle(lane: Lane): void {
    // A removed lane may be woken once more, after its thread has got a new one.
    if (lane.runs > 0 || !lane.empty || this.#lanes.get(lane.key) !== lane) return
    this.#lanes.delete(lane.key)
    // Its last writes were given up.
    this.#down.delete(lane)
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

  #limitTimer(ms: number, callback: () => void): () => void {
    const cancel = () => {
      this.#limits.delete(cancel)
      stop()
    }
    const stop = this.#parts.clock.after(
      ms,
      () => {
        this.#limits.delete(cancel)
        callback()
      },
      false,
    )
    this.#limits.add(cancel)
    return cancel
  }

  #stillPending(lanes: readonly Lane[]): KernelError {
    const pending = lanes.reduce((sum, lane) => sum + lane.pending, 0)
    return new KernelError('RECORDS_PENDING', `records: not all are written, ${pending} still wait`, {
      retryable: true,
      details: { pending },
    })
  }
}
