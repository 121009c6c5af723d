import type { Callback, Clock, KernelError, RunRequest, Store } from '@troupe/kernel'
import type { FlowAgent } from '../tree/flow-agent.ts'
import type { RunnerLimits } from './limits.ts'
import type { PendingPolicy } from './opening.ts'
import type { BusyPolicy, LeaseOptions } from './thread-lease.ts'

/** Settings of a single run; `busy` overrides that of the runner. */
export interface FlowRequest extends RunRequest {
  readonly busy?: BusyPolicy
}

/** Everything that the runs of a runner share. */
export interface RunnerParts {
  readonly flow: FlowAgent
  readonly store: Pick<Store, 'threads' | 'leases'>
  readonly callbacks: readonly Callback[]
  readonly limits: Required<RunnerLimits>
  readonly pending: PendingPolicy
  readonly clock: Clock
  readonly report: ((error: KernelError) => void) | undefined
  readonly lease: LeaseOptions
}
