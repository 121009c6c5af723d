import {
  type Awaitable,
  type Clock,
  checkOption,
  checkOptionNames,
  KernelError,
  type OptionNames,
  type RunRecord,
  type Store,
  systemClock,
  type ThreadRef,
} from '@troupe/kernel'
import { Publisher } from './publisher.ts'
import { Ledger } from './record/ledger.ts'
import { endOf, type Notification, notificationOf } from './record/notification.ts'
import type { RecordedRun } from './record/recorded-run.ts'
import type { Entry, Settled } from './write/lane.ts'
import { type WriteOptions, WriteQueue } from './write/write-queue.ts'

/** `shadow` writes and reports what differs, and tells nobody; `off` does nothing. */
export type LifecycleMode = 'off' | 'shadow' | 'on'

/** A run that is over. */
export type FinishedRun = Omit<RunRecord, 'seq'> & {
  readonly ref: ThreadRef
  /** Absent if the store has no record of it. */
  readonly seq?: number
}

/** What lifecycles are made with. */
export interface LifecycleOptions {
  readonly store: Pick<Store, 'records'>
  /** Tells a receiver what was written. Contract: called in order, not awaited; what goes wrong in it is reported once. */
  readonly publish?: (notification: Notification) => Awaitable<void>
  /** Contract: exactly once for each run that is not nested, when its end is written, or when it is given up; `error` if it failed or was cancelled, or if its record is not what it came to. */
  readonly onDone?: (run: FinishedRun, error?: KernelError) => Awaitable<void>
  /** @default 'on' */
  readonly mode?: LifecycleMode
  /** @default the system's clock */
  readonly clock?: Clock
  /** Where failures go that nobody waits for. @default console.error */
  readonly report?: (error: KernelError) => void
  /** How and when it is written. */
  readonly write?: WriteOptions
}

const NAMES: OptionNames<LifecycleOptions> = {
  store: true,
  publish: true,
  onDone: true,
  mode: true,
  clock: true,
  report: true,
  write: true,
}

/** Puts the pure part, the queue and the receivers together. */
export class Recorder implements AsyncDisposable {
  readonly mode: LifecycleMode
  readonly ledger: Ledger
  readonly queue: WriteQueue
  readonly now: () => number
  readonly #records: Store['records']
  readonly #report: (error: KernelError) => void
  readonly #notify: Publisher<[Notification]>
  readonly #onDone: Publisher<[FinishedRun, KernelError?]>

  constructor(options: LifecycleOptions) {
    checkOptionNames('persistence', options, NAMES)
    const { store, publish, onDone, mode = 'on', clock = systemClock, report = reportToConsole, write } = options
    checkOption(typeof store?.records?.apply === 'function', 'persistence', 'store has records', store)
    checkOption(MODES.includes(mode), 'persistence', `mode is one of ${MODES.join(', ')}`, mode)
    this.mode = mode
    this.#records = store.records
    this.#report = (error) => {
      try {
        report(error)
      } catch {
        reportToConsole(error)
      }
    }
    const loud = mode === 'on'
    this.#notify = new Publisher('publish', loud ? publish : undefined, clock, this.#report)
    this.#onDone = new Publisher('onDone', loud ? onDone : undefined, clock, this.#report)
    const settled = (entry: Entry, result: Settled) => this.#settled(entry, result)
    this.queue = new WriteQueue({ records: store.records, clock, report: this.#report, settled }, write)
    this.now = () => clock.now()
    this.ledger = new Ledger(this.queue, this.now)
  }

  flush(ref?: ThreadRef): Promise<void> {
    return this.queue.flush(ref)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.queue[Symbol.asyncDispose]()
    } finally {
      this.#notify.stop()
      this.#onDone.stop()
    }
  }

  #settled({ run, command }: Entry, { refused, seq, cause }: Settled): void | Promise<void> {
    if (command.type === 'run-start' && seq !== undefined) run.seq = seq
    if (refused) return this.#refused(run, command, cause)
    const notification = notificationOf(run, command)
    if (notification) this.#notify.publish(notification)
    if (command.type === 'run-finish') return this.#finished(run)
  }

  #refused(run: RecordedRun, command: Entry['command'], cause: KernelError | undefined): void | Promise<void> {
    if (command.type === 'run-finish')
      return run.seq === undefined || cause ? this.#lost(run, cause) : this.#readBack(run)
    if (command.type === 'run-start') run.refused = true
    if (command.type === 'run-text' && command.offset > 0 && run.endedAt === undefined && !cause) {
      run.text.rewind()
      return this.queue.touch(run)
    }
    // What a run has lost because it was over already is told with its end.
    if (run.seq === undefined || cause) this.#complain(run, `refused ${command.type}`, cause)
  }

  /** A finish that is refused may be our own, from an attempt whose answer was lost. */
  async #readBack(run: RecordedRun): Promise<void> {
    const stored = await this.#stored(run)
    if (stored && stored.status === run.ending?.outcome && stored.endedAt === run.endedAt) {
      this.#notify.publish(endOf(run, stored))
      return this.#finished(run)
    }
    const error = this.#complain(run, `had ended it as ${stored?.status ?? 'unknown'} before`)
    if (!stored) return this.#lost(run, error)
    this.#notify.publish(endOf(run, stored))
    this.#done({ ...stored, ref: run.ref }, error)
  }

  async #stored({ ref, seq = 1, runId }: RecordedRun): Promise<RunRecord | undefined> {
    try {
      const page = await this.queue.limited(() => this.#records.runs(ref, { after: seq - 1, limit: 1 }))
      return page.find((record) => record.runId === runId)
    } catch {
      return undefined
    }
  }

  #finished(run: RecordedRun): void | Promise<void> {
    if (this.mode === 'shadow') return this.#compare(run)
    const { ending } = run
    this.#done(recordOf(run), ending?.error && KernelError.from(ending.error))
  }

  async #compare(run: RecordedRun): Promise<void> {
    const stored = await this.#stored(run)
    const mine = recordOf(run)
    const differs = (['status', 'text', 'agentName'] as const).filter((key) => stored?.[key] !== mine[key])
    if (differs.length > 0) this.#complain(run, `keeps another ${differs.join(', ')} than this run had`)
  }

  /** Contract: whoever waits for the end of a run hears of it, record or not. */
  #lost(run: RecordedRun, cause: KernelError | undefined): void {
    const error = cause ?? this.#complain(run, 'has no record of it')
    this.#notify.publish({ ...endOf(run, { status: 'failed', error: error.toJSON() }) })
    this.#done(recordOf(run), error)
  }

  #done(run: FinishedRun, error: KernelError | undefined): void {
    if (run.parentRunId !== undefined) return
    if (error) this.#onDone.publish(run, error)
    else this.#onDone.publish(run)
  }

  #complain(run: RecordedRun, what: string, cause?: KernelError): KernelError {
    const message = `run ${run.runId}: the store ${what}${cause ? `, ${cause.message}` : ''}`
    const error = new KernelError('RECORD_REFUSED', message, cause && { cause })
    if (!run.reported) this.#report(error)
    run.reported = true
    return error
  }
}

const MODES: readonly unknown[] = ['off', 'shadow', 'on'] satisfies LifecycleMode[]

function recordOf(run: RecordedRun): FinishedRun {
  const { ref, runId, parentRunId, agentName, seq, usage, startedAt, endedAt, ending, text } = run
  return {
    ref,
    runId,
    ...(parentRunId !== undefined && { parentRunId }),
    agentName,
    ...(seq !== undefined && { seq }),
    status: ending?.outcome ?? 'generating',
    text: text.whole,
    usage,
    ...(ending?.error && { error: ending.error }),
    startedAt,
    ...(endedAt !== undefined && { endedAt }),
  }
}

function reportToConsole(error: KernelError): void {
  // biome-ignore lint/suspicious/noConsole: the last resort; a silent failure would be worse
  console.error(error)
}
