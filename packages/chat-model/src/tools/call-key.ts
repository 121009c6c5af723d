import { type ContextKey, contextKey, type RunContext } from '@troupe/kernel'

/** The key of the call around, for the calls of runs inside it. */
export const OUTER_KEY: ContextKey<string> = contextKey<string>('chat-model.outer-key')

/** The idempotency key of a call. Contract: unique, also where a provider uses an id again that a lost run has left nothing of; a call that runs again keeps its key, and so do those inside it. */
export function keyOf(ctx: RunContext, callId: string): string {
  const { runId, origin, session } = ctx
  return origin === '' ? `${runId}/${callId}` : `${ctx.get(OUTER_KEY) ?? session.threadId}/${origin}/${callId}`
}
