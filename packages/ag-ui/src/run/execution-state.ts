import { KernelError, type ThreadRef } from '@troupe/kernel'
import { type AbortScope, abortScope } from '@troupe/kernel/kit'
import type { RunLog } from './run-log.ts'

/** A run of this process: its thread, the signal that stops it, and its end. */
export class ExecutionState {
  readonly ref: ThreadRef
  readonly runId: string
  readonly startedAt: number
  readonly signal: AbortSignal
  /** Resolves when the run has released its thread and its log is closed; never rejects. */
  readonly ended: Promise<void>
  /** The log of a served run, from its first event on. */
  log: RunLog | undefined
  readonly #scope: AbortScope
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers()

  constructor(ref: ThreadRef, runId: string, startedAt: number, signal?: AbortSignal) {
    this.ref = ref
    this.runId = runId
    this.startedAt = startedAt
    this.ended = this.#end.promise
    this.#scope = abortScope(signal ?? new AbortController().signal)
    this.signal = this.#scope.signal
  }

  /** Stops the run. Contract: the first reason counts; `ABORTED` makes it cancelled, another code makes it fail. */
  stop(reason: KernelError = new KernelError('ABORTED', 'run: cancelled')): void {
    this.#scope.abort(reason)
  }

  /** Contract: called by the code that made it; a second call changes nothing. */
  end(): void {
    this.#scope[Symbol.dispose]()
    this.#end.resolve()
  }
}
