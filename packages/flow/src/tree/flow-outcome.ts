import {
  type AgentAction,
  type AgentEnd,
  type Answers,
  type Interrupt,
  type Json,
  KernelError,
  type RunContext,
} from '@troupe/kernel'

/** What decides who speaks next. */
export type Steering = Extract<AgentAction, { readonly type: 'transfer-to-agent' | 'exit' | 'break-loop' }>

/** Where something waits for answers or for results from outside, and how it goes on. */
export interface Suspended {
  /** Empty if only results are awaited. */
  readonly interrupts: readonly Interrupt[]
  readonly state: Json
}

/** What brings something suspended back. */
export interface Resumption {
  readonly state: Json
  readonly answers: Answers
}

/** How somebody's turn to speak ended. */
export interface FlowOutcome {
  readonly end?: AgentEnd | undefined
  readonly action?: Steering | undefined
  readonly suspended?: Suspended | undefined
}

/** Contract: a soft cancel is obeyed between two agents; an abort the kernel sees to. */
export function throwIfCancelled(ctx: RunContext): void {
  if (ctx.cancelling) throw new KernelError('ABORTED', `run ${ctx.runId}: cancelled before the next agent`)
}
