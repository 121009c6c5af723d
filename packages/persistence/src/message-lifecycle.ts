import type { Callback, KernelError, ModelResult, ThreadRef } from '@troupe/kernel'
import { identityOf } from './record/run-records.ts'
import { type LifecycleOptions, Recorder } from './recorder.ts'

/** A callback that records runs. */
export interface MessageLifecycle extends Callback, AsyncDisposable {
  /** Contract: resolves when all records so far are written or refused; rejects with `RECORDS_PENDING` after `flushMs`. */
  flush(ref?: ThreadRef): Promise<void>
  readonly [RECORDER]: Recorder
}

/** The key of a lifecycle's recorder, whose queue a tool lifecycle shares. */
export const RECORDER: unique symbol = Symbol('troupe.recorder')

/**
 * Makes a callback that keeps a record of each run: created when the run begins, with its text as it streams, its tokens and one end.
 * Contract: does not open threads, the Runner does; dispose it before the store.
 * @example runner({ agent, store, callbacks: [messageLifecycle({ store })] })
 */
export function messageLifecycle(options: LifecycleOptions): MessageLifecycle {
  const recorder = new Recorder(options)
  const { runs, mode } = recorder
  const hooks: Pick<Callback, 'run' | 'agent' | 'model'> = {
    run: {
      onStart: (info, input) => void runs.start(identityOf(info, input)),
      onPart: runs.part,
      onEnd: (info, result) => runs.end(info, result),
      onError: (info, error: KernelError) => runs.fail(info, error),
    },
    agent: { onStart: (info, input) => runs.agentStart(info, input) },
    model: {
      onStart: (info) => runs.modelStart(info),
      onEnd: (info, result: ModelResult) => runs.modelEnd(info, result),
      onError: (info) => runs.modelEnd(info),
    },
  }
  return {
    name: 'message-lifecycle',
    ...(mode !== 'off' && hooks),
    flush: (ref) => recorder.flush(ref),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
    [RECORDER]: recorder,
  }
}
