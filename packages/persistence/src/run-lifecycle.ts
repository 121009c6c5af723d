import { type ErrorInfo, KernelError, type Outcome, type ThreadRef, type Usage } from '@troupe/kernel'
import type { RecordedRun, RunIdentity } from './record/recorded-run.ts'
import { type LifecycleOptions, Recorder } from './recorder.ts'

/** A handle to record a run by hand. Contract: its methods never wait or throw; the first `finish` counts, and later calls are ignored. */
export interface RunHandle {
  readonly runId: string
  append(text: string): void
  /** Adds the tokens of one model call. */
  usage(model: string, usage: Usage): void
  finish(end?: RunFinish): void
}

/** The end of a run that is recorded by hand. */
export interface RunFinish {
  /** @default 'complete', or 'failed' if there is an error */
  readonly outcome?: Outcome
  readonly error?: ErrorInfo
}

/** Records runs by hand. */
export interface RunLifecycle extends AsyncDisposable {
  /** Begins the record of a run. Contract: the thread exists, and the run id is new. */
  begin(run: RunIdentity): RunHandle
  /** Contract: resolves when all records so far are written or refused; rejects with `RECORDS_PENDING` after `flushMs`. */
  flush(ref?: ThreadRef): Promise<void>
}

/**
 * Keeps records without callbacks, through the same queue.
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
      return recorder.mode === 'off' ? new UnrecordedRun(runId) : new ManualRun(recorder, recorder.runs.start(identity))
    },
    flush: (ref) => recorder.flush(ref),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  }
}

class ManualRun implements RunHandle {
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
    this.#recorder.runs.append(this.#run, text)
  }

  usage(model: string, usage: Usage): void {
    const spanId = `${this.runId}/model:${this.#models++}`
    this.#recorder.runs.usage(this.#run, { spanId, model, usage, messageId: this.runId })
  }

  finish({ error, outcome = error ? 'failed' : 'complete' }: RunFinish = {}): void {
    this.#recorder.runs.finish(this.#run, outcome, error && KernelError.from(error).toJSON())
  }
}

class UnrecordedRun implements RunHandle {
  readonly runId: string

  constructor(runId: string) {
    this.runId = runId
  }

  append(): void {}
  usage(): void {}
  finish(): void {}
}
