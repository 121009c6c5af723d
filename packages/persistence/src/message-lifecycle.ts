import type { Callback, KernelError, ModelResult, ThreadRef } from '@troupe/kernel'
import { identityOf } from './record/ledger.ts'
import { type LifecycleOptions, Recorder } from './recorder.ts'

/** Records the lives of runs. */
export interface MessageLifecycle extends Callback, AsyncDisposable {
  /** Contract: resolves when everything heard so far is written or refused; rejects with `RECORDS_PENDING` after a while. */
  flush(ref?: ThreadRef): Promise<void>
  readonly [RECORDER]: Recorder
}

/** What shares the queue of a lifecycle finds it here. */
export const RECORDER: unique symbol = Symbol('troupe.recorder')

/**
 * A callback that keeps the record of each run: begun when the run begins, its text as it streams, its tokens, one end.
 * Contract: the thread is opened by whoever runs agents in it; dispose it before the store.
 * @example runner(agent, { store, callbacks: [messageLifecycle({ store })] })
 */
export function messageLifecycle(options: LifecycleOptions): MessageLifecycle {
  const recorder = new Recorder(options)
  const { ledger, mode } = recorder
  const hooks: Pick<Callback, 'run' | 'model'> = {
    run: {
      onStart: (info, input) => void ledger.start(identityOf(info, input)),
      onPart: ledger.part,
      onEnd: (info, result) => ledger.end(info, result),
      onError: (info, error: KernelError) => ledger.fail(info, error),
    },
    model: {
      onStart: (info) => ledger.modelStart(info),
      onEnd: (info, result: ModelResult) => ledger.modelEnd(info, result),
      onError: (info) => ledger.modelEnd(info),
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
