import { KernelError, type RecordCommand, type RecordStore, type ThreadRef } from '@troupe/kernel'
import type { RecordedRun } from '../record/recorded-run.ts'

type TextCommand = Extract<RecordCommand, { readonly type: 'run-text' }>

/** A queued command. */
interface QueuedCommand {
  readonly run: RecordedRun
  readonly command: RecordCommand
  /** Repeats a command whose result is already known. */
  readonly silent?: true
}

/** The result of a command. */
interface WriteResult {
  readonly seq?: number
  readonly refused?: true
  readonly cause?: KernelError
}

/** The queue as a lane sees it. */
interface LaneHost {
  readonly maxCommands: number
  readonly attempts: number
  apply(ref: ThreadRef, commands: readonly RecordCommand[]): ReturnType<RecordStore['apply']>
  /** Calls back after a pause that grows with the failures. */
  pause(failures: number, callback: () => void): () => void
  added(): void
  written(run: RecordedRun, command: RecordCommand): void | Promise<void>
  refused(run: RecordedRun, command: RecordCommand, cause?: KernelError): void | Promise<void>
  /** The store took none of the last attempts of this lane. */
  failed(lane: Lane, error: KernelError): void
  succeeded(lane: Lane): void
  idle(lane: Lane): void
}

/** The writes of one thread, in order. Contract: one batch at a time; a failed batch is sent again unchanged until the store takes it, or has refused it `attempts` times with an error that does not pass. */
export class Lane {
  readonly ref: ThreadRef
  readonly key: string
  /** The number of active runs. */
  runs = 0
  readonly #host: LaneHost
  #entries: QueuedCommand[] = []
  #dirty: RecordedRun[] = []
  #sending: readonly QueuedCommand[] | undefined
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

  /** Stops writing. */
  stop(): void {
    this.#stopped = true
    this.#cancelRetry?.()
    this.#cancelRetry = undefined
    this.#cutAll()
  }

  /** Refuses the commands that a stopped lane has not written. */
  giveUp(cause: KernelError): void {
    const left = [...(this.#sending ?? []), ...this.#entries]
    this.#entries = []
    this.#sending = undefined
    for (const { run, command, silent } of left) if (!silent) void this.#host.refused(run, command, cause)
  }

  #start(): void {
    if (this.#busy || this.#stopped || this.#cancelRetry) return
    this.#busy = true
    void this.#drain()
  }

  async #drain(): Promise<void> {
    for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
      if (!(await this.#write(batch))) return
    }
    this.#busy = false
    this.#host.idle(this)
  }

  /** Contract: false if the lane has stopped, or pauses before it sends the batch again. */
  async #write(batch: readonly QueuedCommand[]): Promise<boolean> {
    const sent = batch.filter(({ run }) => !run.refused)
    let results: readonly WriteResult[]
    try {
      results = sent.length > 0 ? await this.#send(sent) : []
    } catch (thrown) {
      return !this.#stopped && this.#recover(batch, sent, thrown)
    }
    if (this.#stopped) return false
    await this.#settle(batch, sent, results)
    return true
  }

  /** Contract: false if the lane pauses. */
  async #recover(batch: readonly QueuedCommand[], sent: readonly QueuedCommand[], thrown: unknown): Promise<boolean> {
    const error = KernelError.from(thrown, 'STORE_FAILED')
    const isMalformed = error.code === 'VALIDATION_FAILED'
    // The error of a foreign driver does not say whether it passes.
    const passes = error.retryable || !KernelError.is(thrown)
    if (!isMalformed && (passes || this.#failures + 1 < this.#host.attempts)) {
      this.#retry(batch, error)
      return false
    }
    if (isMalformed && sent.length > 1) {
      this.#separate(batch)
      return true
    }
    if (!isMalformed) this.#host.failed(this, error)
    const refusal = { refused: true, cause: error } as const
    await this.#settle(
      batch,
      sent,
      sent.map(() => refusal),
    )
    return true
  }

  async #send(entries: readonly QueuedCommand[]): Promise<readonly WriteResult[]> {
    const commands = entries.map(({ run: { by }, command }) => (by ? { ...command, by } : command))
    const results = await this.#host.apply(this.ref, commands)
    this.#failures = 0
    if (!this.#stopped) this.#host.succeeded(this)
    return results
  }

  /** Sends the entries of a batch one by one, so that a malformed one does not hold up the rest. */
  #separate(batch: readonly QueuedCommand[]): void {
    const entries = batch.filter(({ silent }) => !silent)
    this.#sending = undefined
    this.#entries = [...entries, ...this.#entries]
    this.#alone = entries.length
    this.#due = true
  }

  #retry(batch: readonly QueuedCommand[], error: KernelError): void {
    this.#busy = false
    this.#failures++
    if (error.code === 'TIMEOUT') for (const { run } of batch) run.suspect = true
    if (this.#failures >= this.#host.attempts || !error.retryable) this.#host.failed(this, error)
    this.#cancelRetry = this.#host.pause(this.#failures, () => {
      this.#cancelRetry = undefined
      this.#start()
    })
  }

  #take(): readonly QueuedCommand[] {
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
    const { offset, text } = run.text.cut()
    const last = this.#entries.at(-1)
    if (last?.run === run && last.command.type === 'run-text') {
      this.#entries[this.#entries.length - 1] = { run, command: withText(last.command, offset, text) }
    } else this.#push({ run, command: textCommand(run, offset, text) })
  }

  #push(entry: QueuedCommand): void {
    this.#entries.push(entry)
    this.#added++
    this.#host.added()
  }

  async #settle(
    batch: readonly QueuedCommand[],
    sent: readonly QueuedCommand[],
    results: readonly WriteResult[],
  ): Promise<void> {
    this.#sending = undefined
    const bySent = new Map(sent.map((entry, i) => [entry, results[i] ?? {}]))
    for (const entry of batch) {
      if (entry.silent) continue
      const wait = this.#report(entry, bySent.get(entry) ?? REFUSED)
      if (wait) await wait
      this.#done++
      while (this.#waiting[0] && this.#waiting[0].upTo <= this.#done) this.#waiting.shift()?.resolve()
    }
  }

  #report({ run, command }: QueuedCommand, { seq, refused, cause }: WriteResult): void | Promise<void> {
    if (command.type === 'run-start' && seq !== undefined) run.seq = seq
    return refused ? this.#host.refused(run, command, cause) : this.#host.written(run, command)
  }
}

const REFUSED: WriteResult = { refused: true }

function textCommand({ runId }: RecordedRun, offset: number, text: string): TextCommand {
  return { type: 'run-text', runId, offset, text }
}

/** Adds text from `offset` on to a command that is still queued. */
function withText(before: TextCommand, offset: number, text: string): TextCommand {
  const start = Math.min(before.offset, offset)
  return { ...before, offset: start, text: before.text.slice(0, offset - start) + text }
}

/** Whether a write that timed out may still overwrite later text; then the last write repeats the whole text. */
function isDoubtful({ run, command }: QueuedCommand): boolean {
  return run.suspect && command.type === 'run-finish'
}

function withWholeText(entry: QueuedCommand): readonly QueuedCommand[] {
  if (!isDoubtful(entry)) return [entry]
  const { run } = entry
  return [{ run, command: textCommand(run, 0, run.text.whole), silent: true }, entry]
}
