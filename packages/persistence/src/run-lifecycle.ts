import { type ErrorInfo, KernelError, type Outcome, type ThreadRef, type Usage } from '@troupe/kernel'
import type { RecordedRun, RunIdentity } from './record/recorded-run.ts'
import { type LifecycleOptions, Recorder } from './recorder.ts'

/** A run that is told by hand. Contract: nothing here waits or fails; the first `finish` counts, and what comes after it is passed by. */
export interface LiveRun {
  readonly runId: string
  append(text: string): void
  /** Tokens of one model call. */
  usage(model: string, usage: Usage): void
  finish(end?: RunFinish): void
}

/** How a run that is told by hand ends. */
export interface RunFinish {
  /** @default 'complete', or 'failed' if there is an error */
  readonly outcome?: Outcome
  readonly error?: ErrorInfo
}

/** Records the lives of runs that are told by hand. */
export interface RunLifecycle extends AsyncDisposable {
  /** Contract: the thread is open; the id is new. */
  begin(run: RunIdentity): LiveRun
  /** Contract: resolves when everything told so far is written or refused; rejects with `RECORDS_PENDING` after a while. */
  flush(ref?: ThreadRef): Promise<void>
}

/**
 * The way to keep records without callbacks, on the same machinery.
 * @example const run = runLifecycle({ store }).begin({ ref, runId, agentName }); run.append('Hi'); run.finish()
 */
export function runLifecycle(options: LifecycleOptions): RunLifecycle {
  const recorder = new Recorder(options)
  return {
    begin(identity) {
      const { runId, agentName, ref } = identity
      if (!runId || !agentName || !ref?.threadId) {
        throw new KernelError('VALIDATION_FAILED', 'runLifecycle: begin needs ref, runId and agentName')
      }
      return recorder.mode === 'off' ? new UnrecordedRun(runId) : new ToldRun(recorder, recorder.ledger.start(identity))
    },
    flush: (ref) => recorder.flush(ref),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  }
}

class ToldRun implements LiveRun {
  readonly runId: string
  readonly #recorder: Recorder
  readonly #run: RecordedRun
  #models = 0

  constructor(recorder: Recorder, run: RecordedRun) {
    this.runId = run.runId
    this.#recorder = recorder
    this.#run = run
  }

  append(text: string): void {
    this.#recorder.ledger.append(this.#run, text)
  }

  usage(model: string, usage: Usage): void {
    const spanId = `${this.runId}/model:${this.#models++}`
    this.#recorder.ledger.usage(this.#run, { spanId, model, usage, messageId: this.runId })
  }

  finish({ error, outcome = error ? 'failed' : 'complete' }: RunFinish = {}): void {
    this.#recorder.ledger.finish(this.#run, { outcome, ...(error && { error: KernelError.from(error).toJSON() }) })
  }
}

class UnrecordedRun implements LiveRun {
  readonly runId: string

  constructor(runId: string) {
    this.runId = runId
  }

  append(): void {}
  usage(): void {}
  finish(): void {}
}
