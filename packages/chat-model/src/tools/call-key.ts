import { type ContextKey, contextKey, type RunContext, type ThreadRef } from '@troupe/kernel'

/** The key of the outer call, for the calls of the runs inside it. */
export const OUTER_KEY: ContextKey<string> = contextKey<string>('chat-model.outer-key')

/** The idempotency key of a call. Contract: unique over all owners and threads, even if a provider repeats the id of a call in a lost run; a call that runs again keeps its key, and so do the calls inside it. */
export function callKey(ctx: RunContext, callId: string): string {
  const { runId, origin } = ctx
  return origin === ''
    ? keyIn(ctx, runId, callId)
    : `${ctx.get(OUTER_KEY) ?? threadKey(ctx.session)}/${encoded(origin)}/${encoded(callId)}`
}

/** A key of something in the thread of a run. Contract: printable ASCII, so that it can be sent in a header; different parts give different keys, whatever characters they contain. */
export function keyIn({ session }: RunContext, runId: string, part: string): string {
  return `${threadKey(session)}/${encoded(runId)}/${encoded(part)}`
}

/** The key of the thread that was asked for last: most keys follow each other in one run. */
let last: { readonly ref: ThreadRef; readonly key: string } | undefined

function threadKey(ref: ThreadRef): string {
  if (last?.ref === ref) return last.key
  const key = `${encoded(ref.app)}/${encoded(ref.user)}/${encoded(ref.threadId)}`
  last = { ref, key }
  return key
}

/** Contract: printable ASCII without a slash; a lone surrogate, which a URI cannot have, is `%u` and its number. */
function encoded(part: string): string {
  if (PLAIN.test(part)) return part
  if (PRINTABLE.test(part)) return part.replaceAll('%', '%25').replaceAll('/', '%2F')
  return Array.from(part, (char) =>
    /^[\ud800-\udfff]$/.test(char) ? `%u${char.charCodeAt(0).toString(16)}` : encodeURIComponent(char),
  ).join('')
}

const PLAIN = /^[!-$&-.0-~]*$/
const PRINTABLE = /^[!-~]*$/
