import { type ContextKey, contextKey, type RunContext } from '@troupe/kernel'

/** The key of the outer call, for the calls of the runs inside it. */
export const OUTER_KEY: ContextKey<string> = contextKey<string>('chat-model.outer-key')

/** The idempotency key of a call. Contract: unique, even if a provider repeats the id of a call in a lost run; a call that runs again keeps its key, and so do the calls inside it. */
export function callKey(ctx: RunContext, callId: string): string {
  const { runId, origin, session } = ctx
  return origin === '' ? `${runId}/${callId}` : `${ctx.get(OUTER_KEY) ?? session.threadId}/${origin}/${callId}`
}
