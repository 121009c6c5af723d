import type { CancelMode } from '@troupe/kernel'
import type { RunOrder } from './run-order.ts'

/** Gives the text that was recorded next; at the end of what was recorded, does the work and records the text that it gives. Contract: called again only when it has settled. */
export type Once = (work: () => Promise<string>) => Promise<string>

/** One attempt of an engine to carry out a run. */
export interface EngineAttempt {
  readonly once: Once
  /** Aborts when the engine has given up this attempt, because another one may go on from then on. */
  readonly gone: AbortSignal
}

/** What those who order runs need of an engine. */
export interface Engine {
  /** Contract: once it has resolved, the run is carried out whatever happens; a second order for the same run changes nothing; rejects with a retryable error if the engine cannot be reached. */
  submit(order: RunOrder): Promise<void>
  /** Asks a run to stop at once, also while no worker has it. Contract: the store has been asked before; a run that has ended is left alone. */
  cancel(order: Pick<RunOrder, 'ref' | 'runId' | 'agent'>, mode: CancelMode): Promise<void>
  /** Whether the engine will still carry out a run, or is about to end it. */
  carries(order: Pick<RunOrder, 'ref' | 'runId' | 'agent'>): Promise<boolean>
}
