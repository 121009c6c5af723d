import { type ContextKey, contextKey, type RunContext, type ThreadRef } from '@troupe/kernel'

/** The key of the outer call, for the calls of the runs inside it. */
export const OUTER_KEY: ContextKey<string> = contextKey<string>('chat-model.outer-key')

/** The idempotency key of a call. Contract: unique over all owners and threads, even if a provider repeats the id of a call in a lost run; a call that runs again keeps its key, and so do the calls inside it. */
export function callKey(ctx: RunContext, callId: string): string {
  const { runId, session, origin } = ctx
  return origin === ''
    ? `${runKey(session, runId)}/${encoded(callId)}`
    : `${ctx.get(OUTER_KEY) ?? threadKey(session)}/${encoded(origin)}/${encoded(callId)}`
}

/** The idempotency key of a model call. Contract: as that of a tool call. */
export function modelKey({ runId, session, step }: RunContext, position: string): string {
  const run = runKey(session, runId)
  return step === '' ? `${run}/${position}` : `${run}/${encoded(step)}%2F${position}`
}

/** The key of the run that was asked for last: most keys follow each other in one run. */
let lastRun: { readonly ref: ThreadRef; readonly runId: string; readonly key: string } | undefined

function runKey(ref: ThreadRef, runId: string): string {
  if (lastRun?.ref === ref && lastRun.runId === runId) return lastRun.key
  const own = encoded(runId)
  const thread = ref.threadId === runId ? own : encoded(ref.threadId)
  const key = `${ownerKey(ref)}/${thread}/${own}`
  lastRun = { ref, runId, key }
  return key
}

function threadKey(ref: ThreadRef): string {
  return `${ownerKey(ref)}/${encoded(ref.threadId)}`
}

let lastOwner: { readonly app: string; readonly user: string; readonly key: string } | undefined

function ownerKey({ app, user }: ThreadRef): string {
  if (lastOwner?.app === app && lastOwner.user === user) return lastOwner.key
  const key = `${encoded(app)}/${encoded(user)}`
  lastOwner = { app, user, key }
  return key
}

/** Contract: printable ASCII without a slash, so that keys can be sent in a header and different parts give different keys; a lone surrogate, which a URI cannot have, is `%u` and its number. */
function encoded(part: string): string {
  if (PLAIN.test(part)) return part
  if (PRINTABLE.test(part)) return part.replaceAll('%', '%25').replaceAll('/', '%2F')
  return Array.from(part, (char) =>
    /^[\ud800-\udfff]$/.test(char) ? `%u${char.charCodeAt(0).toString(16)}` : encodeURIComponent(char),
  ).join('')
}

const PLAIN = /^[!-$&-.0-~]*$/
const PRINTABLE = /^[!-~]*$/
