import type { ContextKey, Message, RunContext } from '@troupe/kernel'
import { contextKey } from '@troupe/kernel'
import { type Session, ThreadLog } from './thread-log.ts'

/** What the layers of flow hand down to each other in one run. */
export interface FlowContext {
  readonly runId: string
  readonly log: ThreadLog
  /** How many transfers a run may make, and how many are left. */
  readonly limit: number
  readonly budget: { left: number }
  /** Whom it is meant for; anybody else begins a flowContext of their own. */
  readonly owner?: object
  /** Nobody keeps where it stops, so nobody is told. */
  readonly ephemeral?: true
}

export const FLOW_CONTEXT: ContextKey<FlowContext> = contextKey<FlowContext>('troupe.flow.context')

/** How many transfers a run may make. */
export const TRANSFERS = 25

/**
 * The session that this context stands in; nothing where no flow is around.
 * @example const asked = sessionOf(ctx)?.messages.filter(({ role }) => role === 'user')
 */
export function sessionOf(ctx: RunContext): Session | undefined {
  const flowContext = ctx.get(FLOW_CONTEXT)
  return flowContext?.runId === ctx.runId ? flowContext.log : undefined
}

/** The flowContext that was set for this owner in this run, or a new one. */
export function flowContextFor(owner: object, messages: readonly Message[], ctx: RunContext): FlowContext {
  const flowContext = ctx.get(FLOW_CONTEXT)
  if (flowContext?.owner === owner && flowContext.runId === ctx.runId) return flowContext
  const { limit = TRANSFERS } = flowContext ?? {}
  return { runId: ctx.runId, log: new ThreadLog(messages), limit, budget: { left: limit } }
}
