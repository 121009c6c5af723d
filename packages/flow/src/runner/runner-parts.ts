import type { Callback, Clock, Journal, KernelError, RunRequest, Store } from '@troupe/kernel'
import type { FlowAgent } from '../tree/flow-agent.ts'
import type { HistoryWindow } from './history-window.ts'
import type { KeptHistories } from './kept-histories.ts'
import type { RunnerLimits } from './limits.ts'
import type { PendingPolicy } from './opening.ts'
import type { BusyPolicy, LeaseOptions } from './thread-lease.ts'

/** Settings of a single run; `busy` overrides that of the runner. */
export interface FlowRequest extends RunRequest {
  readonly busy?: BusyPolicy
}

/** The ports that a runner uses; `journal` is needed for `durability: 'step'`. */
export type RunnerStore = Pick<Store, 'threads' | 'leases'> & Partial<Pick<Store, 'journal'>>

/** When a run is stored: each step as it gets done, so that the run survives its process, or the whole turn at its end. */
export type Durability = 'step' | 'turn'

/** Everything that the runs of a runner share. */
export interface RunnerParts {
  readonly flow: FlowAgent
  readonly store: RunnerStore
  readonly durability: Durability
  readonly unknownCalls: 'tell' | 'ask'
  readonly wrapJournal: ((journal: Journal) => Journal) | undefined
  readonly callbacks: readonly Callback[]
  readonly limits: Required<RunnerLimits>
  readonly pending: PendingPolicy
  readonly clock: Clock
  readonly report: ((error: KernelError) => void) | undefined
  readonly lease: LeaseOptions
  readonly histories: KeptHistories
  /** @default the whole history */
  readonly window: HistoryWindow | undefined
}
