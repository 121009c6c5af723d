import { KernelError, type RecordCommand, type RecordStore, type ThreadRef } from '@troupe/kernel'
import type { RecordedRun } from '../record/recorded-run.ts'
import type { Piece } from '../record/run-text.ts'

/** A queued command. */
export interface Entry {
  readonly run: RecordedRun
  readonly command: RecordCommand
  /** Repeats a command whose result is already known. */
  readonly silent?: true
}

/** The result of a command. */
export type Settled = { readonly seq?: number; readonly refused?: true; readonly cause?: KernelError }

/** The queue as a lane sees it. */
export interface LaneHost {
  readonly maxCommands: number
  readonly attempts: number
  apply(ref: ThreadRef, commands: readonly RecordCommand[]): ReturnType<RecordStore['apply']>
  /** Calls back after a pause that grows with the failures. */
  pause(failures: number, callback: () => void): () => void
  added(): void
  settled(entry: Entry, settled: Settled): void | Promise<void>
  failing(lane: Lane, error: KernelError): void
  wrote(lane: Lane): void
  idle(lane: Lane): void
}

/** The writes of one thread, in order. Contract: one batch at a time; a failed batch is sent again unchanged until the store takes it. */
export class Lane {
  readonly ref: ThreadRef
  readonly key: string
  /** The number of active runs. */
  runs = 0
  readonly #host: LaneHost
  #entries: Entry[] = []
  #dirty: RecordedRun[] = []
  #sending: readonly Entry[] | undefined
  /** How many of the next entries are sent one by one, to find the one that cannot be written. */
  #alone = 0
  #failures = 0
  #busy = false
  #woken = false
  /** The queued commands are written without waiting. */
  #due = false
  #cancelRetry: (() => void) | undefined
  #stopped = false
  #added = 0
  #done = 0
  #waiting: { readonly upTo: number; readonly resolve: () => void }[] = []

  constructor(ref: ThreadRef, key: string, host: LaneHost) {
    this.ref = ref
    this.key = key
    this.#host = host
  }

  /** Commands neither written nor refused. */
  get pending(): number {
    return this.#added - this.#done
  }

  get empty(): boolean {
    return this.pending === 0 && this.#dirty.length === 0 && !this.#busy
  }

  add(run: RecordedRun, command: RecordCommand): void {
    if (run.text.dirty) this.#cut(run)
    this.#push({ run, command })
  }

  touch(run: RecordedRun): void {
    run.queued = true
    this.#dirty.push(run)
  }

  /** Writes the queued commands in the next microtask, but not before a pause between attempts ends. */
  soon(): void {
    this.#due = true
    if (this.#busy || this.#woken || this.#cancelRetry) return
    this.#woken = true
    queueMicrotask(() => {
      this.#woken = false
      this.#start()
    })
  }

  /** Tries at once, even in a pause between attempts. */
  probe(): void {
    this.#cancelRetry?.()
    this.#cancelRetry = undefined
    this.soon()
  }

  /** Contract: resolves when everything added so far is written or refused. */
  flushed(): Promise<void> {
    this.#cutAll()
    if (this.pending === 0) return Promise.resolve()
    const upTo = this.#added
    this.probe()
    return new Promise((resolve) => void this.#waiting.push({ upTo, resolve }))
  }

  /** Stops and returns the entries that were not written. */
  stop(): readonly Entry[] {
    this.#stopped = true
    this.#cancelRetry?.()
    this.#cancelRetry = undefined
    this.#cutAll()
    const left = [...(this.#sending ?? []), ...this.#entries].filter(({ silent }) => !silent)
    this.#entries = []
    this.#sending = undefined
    return left
  }

  #start(): void {
    if (this.#busy || this.#stopped || this.#cancelRetry) return
    this.#busy = true
    void this.#drain()
  }

  async #drain(): Promise<void> {
    for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
      const sent = batch.filter(({ run }) => !run.refused)
      let results: readonly Settled[] = []
      try {
        if (sent.length > 0) results = await this.#send(sent)
        if (this.#stopped) return
      } catch (thrown) {
        if (this.#stopped) return
        const error = KernelError.from(thrown, 'STORE_FAILED')
        if (error.code !== 'VALIDATION_FAILED') {
          this.#busy = false
          return this.#retry(batch, error)
        }
        if (sent.length > 1) {
          this.#separate(batch)
          continue
        }
        results = [{ refused: true, cause: error }]
      }
      this.#sending = undefined
      const bySent = new Map(sent.map((entry, i) => [entry, results[i] ?? {}]))
      for (const entry of batch) await this.#settle(entry, bySent.get(entry) ?? REFUSED)
    }
    this.#busy = false
    this.#host.idle(this)
  }

  async #send(entries: readonly Entry[]): Promise<readonly Settled[]> {
    const commands = entries.map(({ command }) => command)
    const results = await this.#host.apply(this.ref, commands)
    this.#failures = 0
    if (!this.#stopped) this.#host.wrote(this)
    return results
  }

  /** Sends the entries of a batch one by one, so that a malformed one does not hold up the rest. */
  #separate(batch: readonly Entry[]): void {
    const entries = batch.filter(({ silent }) => !silent)
    this.#sending = undefined
    this.#entries = [...entries, ...this.#entries]
    this.#alone = entries.length
    this.#due = true
  }

  #retry(batch: readonly Entry[], error: KernelError): void {
    this.#failures++
    if (error.code === 'TIMEOUT') for (const { run } of batch) run.suspect = true
    if (this.#failures >= this.#host.attempts || !error.retryable) this.#host.failing(this, error)
    this.#cancelRetry = this.#host.pause(this.#failures, () => {
      this.#cancelRetry = undefined
      this.#start()
    })
  }

  #take(): readonly Entry[] {
    if (this.#sending) return this.#sending
    if (!this.#due) return []
    this.#cutAll()
    const alone = this.#alone > 0
    if (alone) this.#alone--
    const batch = this.#entries.splice(0, alone ? 1 : this.#host.maxCommands)
    this.#due = this.#entries.length > 0
    if (batch.length === 0) return batch
    this.#sending = batch.some(isDoubtful) ? batch.flatMap(withWholeText) : batch
    return this.#sending
  }

  #cutAll(): void {
    const dirty = this.#dirty
    if (dirty.length === 0) return
    this.#dirty = []
    for (const run of dirty) {
      run.queued = false
      if (run.text.dirty) this.#cut(run)
    }
  }

  #cut(run: RecordedRun): void {
    const piece = run.text.cut()
    const last = this.#entries.at(-1)
    if (last?.run === run && last.command.type === 'run-text') {
      this.#entries[this.#entries.length - 1] = textEntry(run, merged(last.command, piece))
    } else this.#push(textEntry(run, piece))
  }

  #push(entry: Entry): void {
    this.#entries.push(entry)
    this.#added++
    this.#host.added()
  }

  async #settle(entry: Entry, settled: Settled): Promise<void> {
    if (entry.silent) return
    const wait = this.#host.settled(entry, settled)
    if (wait) await wait
    this.#done++
    while (this.#waiting[0] && this.#waiting[0].upTo <= this.#done) this.#waiting.shift()?.resolve()
  }
}

const REFUSED: Settled = { refused: true }

function textEntry(run: RecordedRun, { offset, text }: Piece): Entry {
  return { run, command: { type: 'run-text', runId: run.runId, offset, text } }
}

function merged(before: Piece, piece: Piece): Piece {
  if (piece.offset <= before.offset) return piece
  return { offset: before.offset, text: before.text.slice(0, piece.offset - before.offset) + piece.text }
}

/** Whether a write that timed out may still overwrite later text; then the last write repeats the whole text. */
function isDoubtful({ run, command }: Entry): boolean {
  return run.suspect && command.type === 'run-finish'
}

function withWholeText(entry: Entry): readonly Entry[] {
  if (!isDoubtful(entry)) return [entry]
  return [{ ...textEntry(entry.run, { offset: 0, text: entry.run.text.whole }), silent: true }, entry]
}
