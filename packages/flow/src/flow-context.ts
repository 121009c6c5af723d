import type { ContextKey, Message, RunContext } from '@troupe/kernel'
import { contextKey } from '@troupe/kernel'
import { THREAD_VIEW } from '@troupe/kernel/kit'
import { type Session, ThreadLog } from './thread-log.ts'

/** Data that flows and workflows of one run pass down through `RunContext`. */
export interface FlowContext {
  readonly runId: string
  readonly log: ThreadLog
  /** How many transfers a run may make; `budget` counts those that are left, for all agents and branches of the run. */
  readonly limit: number
  readonly budget: { left: number }
  /** The agent or workflow this context was made for; any other one makes its own. */
  readonly owner?: object
  /** The step of the innermost parallel branch around the agents. */
  readonly branch?: string
}

/** The key of the flow context in `RunContext`. */
export const FLOW_CONTEXT: ContextKey<FlowContext> = contextKey<FlowContext>('troupe.flow.context')

/** The default number of transfers a run may make. */
export const TRANSFERS = 25

/**
 * Gives the session of the run; `undefined` outside a flow.
 * @example const asked = sessionOf(ctx)?.messages.filter(({ role }) => role === 'user')
 */
export function sessionOf(ctx: RunContext): Session | undefined {
  const flowContext = ctx.get(FLOW_CONTEXT)
  return flowContext?.runId === ctx.runId ? flowContext.log : undefined
}

/** Makes the context of a run of a runner. */
export function withFlowContext(ctx: RunContext, log: ThreadLog, limit: number, left: number = limit): RunContext {
  return ctx.with(FLOW_CONTEXT, { runId: ctx.runId, log, limit, budget: { left } })
}

/** Makes the context of one agent, which finds the thread in it as it is so far. */
export function withThreadView(ctx: RunContext, { log, branch }: FlowContext): RunContext {
  const { runId } = ctx
  return ctx.with(THREAD_VIEW, {
    runId,
    branch,
    get messages() {
      return log.messages
    },
  })
}

/** How many transfers a run may still make. */
export function transfersLeft(ctx: RunContext): number | undefined {
  return ctx.get(FLOW_CONTEXT)?.budget.left
}

/** Gives the context that was made for this owner in this run, or a new one. */
export function flowContextFor(owner: object, messages: readonly Message[], ctx: RunContext): FlowContext {
  const flowContext = ctx.get(FLOW_CONTEXT)
  if (flowContext?.owner === owner && flowContext.runId === ctx.runId) return flowContext
  const { limit = TRANSFERS } = flowContext ?? {}
  return { runId: ctx.runId, log: new ThreadLog(messages), limit, budget: { left: limit } }
}
