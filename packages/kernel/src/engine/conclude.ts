import { KernelError } from '../data/kernel-error.ts'

/** The facts that decide how a run or an agent that stopped early has ended. */
export interface EarlyStop {
  readonly thrown?: KernelError | undefined
  /** Whether an event has shown the thrown error. */
  readonly wasReported?: boolean | undefined
  /** The error of the abort, if there was one. */
  readonly aborted?: KernelError | undefined
  /** Returns a value if a soft cancel was requested. */
  readonly cancelling?: (() => unknown) | undefined
  /** The failure of the run so far. */
  readonly failure?: KernelError | undefined
}

/** The outcome of an early stop. */
export interface Conclusion {
  readonly outcome: 'failed' | 'cancelled'
  readonly error: KernelError
  /** The failure of the run from now on. */
  readonly failure: KernelError | undefined
}

/** Decides which error wins and whether it is a failure: an abort caused by an error is one, a wanted abort is not. */
export function conclude({ thrown, wasReported, aborted, cancelling, failure }: EarlyStop): Conclusion {
  // An error that was shown stays the outcome, even if an abort followed.
  if (thrown && wasReported) return { outcome: 'failed', error: thrown, failure }
  const error = aborted ?? thrown ?? KernelError.from(undefined)
  const wanted = error.code === 'ABORTED' && (aborted ?? cancelling?.())
  if (!wanted) return { outcome: 'failed', error, failure: error }
  // An agent that is cancelled because of a failure does not replace that failure.
  return { outcome: 'cancelled', error, failure: failure ?? error }
}
