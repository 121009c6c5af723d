import { type ContextKey, contextKey, type RunContext, type ThreadRef } from '@troupe/kernel'
import { keyPart, runKey } from '@troupe/kernel/run'

/** The key of the outer call, for the calls of the runs inside it. */
export const OUTER_KEY: ContextKey<string> = contextKey<string>('chat-model.outer-key')

/** The idempotency key of a call. Contract: unique over all owners and threads, even if a provider repeats the id of a call in a lost run; a call that runs again keeps its key, and so do the calls inside it. */
export function callKey(ctx: RunContext, callId: string): string {
  const { session, origin } = ctx
  return origin === ''
    ? `${runKey(ctx)}/${keyPart(callId)}`
    : `${ctx.get(OUTER_KEY) ?? threadKey(session)}/${keyPart(origin)}/${keyPart(callId)}`
}

/** The idempotency key of a model call. Contract: unique over all owners and threads. */
export function modelKey(ctx: RunContext, position: string): string {
  const { step } = ctx
  return step === '' ? `${runKey(ctx)}/${position}` : `${runKey(ctx)}/${keyPart(step)}%2F${position}`
}

function threadKey({ app, user, threadId }: ThreadRef): string {
  return `${keyPart(app)}/${keyPart(user)}/${keyPart(threadId)}`
}
