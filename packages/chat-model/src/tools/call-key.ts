import { type ContextKey, contextKey, type RunContext, type ThreadRef } from '@troupe/kernel'

/** The key of the outer call, for the calls of the runs inside it. */
export const OUTER_KEY: ContextKey<string> = contextKey<string>('chat-model.outer-key')

/** The idempotency key of a call. Contract: unique over all owners and threads, even if a provider repeats the id of a call in a lost run; a call that runs again keeps its key, and so do the calls inside it. */
export function callKey(ctx: RunContext, callId: string): string {
  const { runId, origin } = ctx
  return origin === ''
    ? keyIn(ctx, runId, callId)
    : `${ctx.get(OUTER_KEY) ?? keyIn(ctx)}/${encoded(origin)}/${encoded(callId)}`
}

/** A key of something in the thread of a run. Contract: printable ASCII, so that it can be sent in a header; different parts give different keys, whatever characters they contain. */
export function keyIn({ session }: RunContext, ...parts: readonly string[]): string {
  let key = threadKey(session)
  for (const part of parts) key += `/${encoded(part)}`
  return key
}

/** The keys of threads, made once for each run. */
const THREADS = new WeakMap<ThreadRef, string>()

function threadKey(ref: ThreadRef): string {
  let key = THREADS.get(ref)
  if (key === undefined) {
    key = [ref.app, ref.user, ref.threadId].map(encoded).join('/')
    THREADS.set(ref, key)
  }
  return key
}

/** Contract: printable ASCII without a slash; a lone surrogate, which a URI cannot have, is `%u` and its number. */
function encoded(part: string): string {
  if (PRINTABLE.test(part)) return part.includes('/') || part.includes('%') ? escaped(part) : part
  return Array.from(part, (char) =>
    /^[\ud800-\udfff]$/.test(char) ? `%u${char.charCodeAt(0).toString(16)}` : encodeURIComponent(char),
  ).join('')
}

const PRINTABLE = /^[\x21-\x7e]*$/

function escaped(part: string): string {
  return part.replaceAll('%', '%25').replaceAll('/', '%2F')
}
