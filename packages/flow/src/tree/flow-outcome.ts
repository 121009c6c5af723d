import {
  type AgentAction,
  type Answers,
  type EventOf,
  type Interrupt,
  type Json,
  KernelError,
  type RunContext,
} from '@troupe/kernel'

/** An action that decides which agent runs next. */
export type Steering = Extract<AgentAction, { readonly type: 'transfer-to-agent' | 'exit' | 'break-loop' }>

/** Questions and state of an agent that waits for answers or for results from outside. */
export interface Suspended {
  /** Empty if it waits for results only. */
  readonly interrupts: readonly Interrupt[]
  /** Calls that run again with the agent and do not ask themselves. */
  readonly callIds?: readonly string[]
  readonly state: Json
}

/** State and answers that resume a suspended agent. */
export interface Resumption {
  readonly state: Json
  readonly answers: Answers
}

/** How a flow ended: its last `agent-end`, the action for the agents around it, or its suspension. */
export interface FlowOutcome {
  readonly end?: EventOf<'agent-end'> | undefined
  readonly action?: Steering | undefined
  readonly suspended?: Suspended | undefined
}

/** Stops a run between two agents after a soft cancel; the kernel handles aborts. */
export function throwIfCancelled(ctx: RunContext): void {
  if (ctx.cancelling) throw new KernelError('ABORTED', `run ${ctx.runId}: cancelled before the next agent`)
}
