import { KernelError, type ThreadRef } from '@troupe/kernel'
import type { RunLog } from './run-log.ts'
import type { RunReaders } from './run-readers.ts'

/** A run of this process: its thread, the signal that stops it, and its end. */
export class ExecutionState {
  readonly ref: ThreadRef
  readonly runId: string
  readonly startedAt: number
  readonly signal: AbortSignal
  /** Resolves when the run has released its thread and its log is closed; never rejects. */
  readonly ended: Promise<void>
  /** Resolves when nothing is left to do for the run: its log is compacted too; never rejects. */
  readonly tidied: Promise<void>
  /** The log of a served run, from its first event on. */
  log: RunLog | undefined
  /** Those who follow a served run; with `onDisconnect: 'cancel'` a run without readers is cancelled. */
  readers: RunReaders | undefined
  readonly #controller: AbortController = new AbortController()
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers()
  #tidying: Promise<void> | undefined

  constructor(ref: ThreadRef, runId: string, startedAt: number) {
    this.ref = ref
    this.runId = runId
    this.startedAt = startedAt
    this.signal = this.#controller.signal
    this.ended = this.#end.promise
    this.tidied = this.ended.then(() => this.#tidying)
  }

  /** Stops the run. Contract: the first reason counts; `ABORTED` makes it cancelled, another code makes it fail. */
  stop(reason: unknown = new KernelError('ABORTED', 'run: cancelled')): void {
    this.#controller.abort(reason)
  }

  /** Stops the run with a signal of its caller too. Contract: dispose it (`using`) or it leaks a listener. */
  stopWith(signal: AbortSignal): Disposable {
    const stop = () => this.stop(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
    return { [Symbol.dispose]: () => signal.removeEventListener('abort', stop) }
  }

  /** Contract: called by the code that made it; a second call changes nothing; `tidying` never rejects. */
  end(tidying?: Promise<void>): void {
    this.#tidying ??= tidying
    this.#end.resolve()
  }
}
