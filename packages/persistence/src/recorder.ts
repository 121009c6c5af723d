import {
  type Awaitable,
  type Clock,
  KernelError,
  type RecordCommand,
  type RunRecord,
  type Store,
  type ThreadRef,
} from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, safeReport, systemClock } from '@troupe/kernel/kit'
import { Publisher } from './publisher.ts'
import { endOf, type Notification, notificationOf } from './record/notification.ts'
import type { RecordedRun } from './record/recorded-run.ts'
import { RunRecords } from './record/run-records.ts'
import type { WriteOptions } from './write/write-options.ts'
import { WriteQueue } from './write/write-queue.ts'

/** `shadow` writes records and reports differences, but does not publish; `off` does nothing. */
export type LifecycleMode = 'off' | 'shadow' | 'on'

/** The record of a run that has ended. */
export type FinishedRun = Omit<RunRecord, 'seq'> & {
  readonly ref: ThreadRef
  /** Absent if the store has no record of it. */
  readonly seq?: number
}

/** The options of a lifecycle. */
export interface LifecycleOptions {
  readonly store: Pick<Store, 'records'>
  /** Receives what was written. Contract: called in order, not awaited; its first error is reported. */
  readonly publish?: (notification: Notification) => Awaitable<void>
  /** Contract: called once for each run that is not nested, when its end is written or given up; `error` is set if the run failed or was cancelled, or if its record differs from its outcome. */
  readonly onDone?: (run: FinishedRun, error?: KernelError) => Awaitable<void>
  /** @default 'on' */
  readonly mode?: LifecycleMode
  /** @default the system's clock */
  readonly clock?: Clock
  /** Receives failures that no caller awaits. @default console.error */
  readonly report?: (error: KernelError) => void
  /** How and when records are written. */
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

/** Connects the records of runs with the write queue and the receivers. */
export class Recorder implements AsyncDisposable {
  readonly mode: LifecycleMode
  readonly runs: RunRecords
  readonly now: () => number
  readonly #queue: WriteQueue
  readonly #records: Store['records']
  readonly #report: (error: KernelError) => void
  readonly #notify: Publisher<[Notification]>
  readonly #onDone: Publisher<[FinishedRun, KernelError?]>

  constructor(options: LifecycleOptions) {
    checkOptionNames('persistence', options, NAMES)
    const { store, publish, onDone, mode = 'on', clock = systemClock, report, write } = options
    checkOption(typeof store?.records?.apply === 'function', 'persistence', 'store must have records', store)
    checkOption(MODES.includes(mode), 'persistence', `mode must be one of ${MODES.join(', ')}`, mode)
    this.mode = mode
    this.#records = store.records
    this.#report = safeReport(report)
    const publishes = mode === 'on'
    this.#notify = new Publisher('publish', publishes ? publish : undefined, clock, this.#report)
    this.#onDone = new Publisher('onDone', publishes ? onDone : undefined, clock, this.#report)
    this.#queue = new WriteQueue(
      {
        records: store.records,
        clock,
        report: this.#report,
        written: (run, command) => this.#written(run, command),
        refused: (run, command, cause) => this.#refused(run, command, cause),
      },
      write,
    )
    this.now = () => clock.now()
    this.runs = new RunRecords(this.#queue, this.now)
  }

  flush(ref?: ThreadRef): Promise<void> {
    return this.#queue.flush(ref)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#queue[Symbol.asyncDispose]()
    } finally {
      this.#notify.stop()
      this.#onDone.stop()
    }
  }

  #written(run: RecordedRun, command: RecordCommand): void | Promise<void> {
    const notification = notificationOf(run, command)
    if (notification) this.#notify.publish(notification)
    if (command.type === 'run-finish') return this.#finished(run)
  }

  #refused(run: RecordedRun, command: RecordCommand, cause: KernelError | undefined): void | Promise<void> {
    if (command.type === 'run-finish')
      return run.seq === undefined || cause ? this.#lost(run, cause) : this.#readBack(run)
    if (command.type === 'run-start') run.refused = true
    if (command.type === 'run-text' && command.offset > 0 && run.endedAt === undefined && !cause) {
      run.text.rewind()
      return this.#queue.touch(run)
    }
    // For a run that had already ended, the loss is reported with its end.
    if (run.seq === undefined || cause) this.#reportRefusal(run, `refused ${command.type}`, cause)
  }

  /** Checks a refused finish: the stored end may be its own, from a write whose answer was lost, or from before the run was continued in this process. */
  async #readBack(run: RecordedRun): Promise<void> {
    const stored = await this.#stored(run)
    const isOwn = stored?.endedAt === run.endedAt || stored?.text === run.text.whole
    if (stored && stored.status === run.status && isOwn) {
      this.#notify.publish(endOf(run, stored))
      return this.#finished(run)
    }
    const error = this.#reportRefusal(run, `already has it as ${stored?.status ?? 'unknown'}`)
    // A run that goes on elsewhere has not ended, but this attempt has.
    if (!stored || stored.status === 'generating') return this.#lost(run, error)
    this.#notify.publish(endOf(run, stored))
    this.#done({ ...stored, ref: run.ref }, error)
  }

  async #stored({ ref, seq = 1, runId }: RecordedRun): Promise<RunRecord | undefined> {
    try {
      const page = await this.#queue.limited(() => this.#records.runs(ref, { after: seq - 1, limit: 1 }))
      return page.find((record) => record.runId === runId)
    } catch {
      return undefined
    }
  }

  #finished(run: RecordedRun): void | Promise<void> {
    if (this.mode === 'shadow') return this.#compare(run)
    this.#done(recordOf(run), run.error && KernelError.from(run.error))
  }

  async #compare(run: RecordedRun): Promise<void> {
    const stored = await this.#stored(run)
    const mine = recordOf(run)
    const differs = (['status', 'text', 'agentName'] as const).filter((key) => stored?.[key] !== mine[key])
    if (differs.length > 0) this.#reportRefusal(run, `has a different ${differs.join(', ')} than this run`)
  }

  /** Publishes the end of a run without a record. Contract: receivers get the end of every run. */
  #lost(run: RecordedRun, cause: KernelError | undefined): void {
    const error = cause ?? this.#reportRefusal(run, 'has no record of it')
    this.#notify.publish(endOf(run, { status: 'failed', error: error.toJSON() }))
    this.#done(recordOf(run), error)
  }

  #done(run: FinishedRun, error: KernelError | undefined): void {
    if (run.parentRunId !== undefined) return
    if (error) this.#onDone.publish(run, error)
    else this.#onDone.publish(run)
  }

  #reportRefusal(run: RecordedRun, what: string, cause?: KernelError): KernelError {
    const message = `run ${run.runId}: the store ${what}${cause ? `, ${cause.message}` : ''}`
    const error = new KernelError('RECORD_REFUSED', message, cause && { cause })
    if (!run.reported) this.#report(error)
    run.reported = true
    return error
  }
}

const MODES: readonly unknown[] = ['off', 'shadow', 'on'] satisfies LifecycleMode[]

function recordOf(run: RecordedRun): FinishedRun {
  const { ref, runId, parentRunId, agentName, seq, status, usage, error, startedAt, endedAt, text } = run
  return {
    ref,
    runId,
    ...(parentRunId !== undefined && { parentRunId }),
    agentName,
    ...(seq !== undefined && { seq }),
    status,
    text: text.whole,
    usage,
    ...(error && { error }),
    startedAt,
    ...(endedAt !== undefined && { endedAt }),
  }
}
