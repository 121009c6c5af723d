import { type Awaitable, KernelError, type RunContext } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'

/** What a check decides: nothing lets the text pass, `replace` puts another one in its place, `refuse` says why it must not be there. */
export type Verdict = { readonly replace: string } | { readonly refuse: string } | undefined | void

/** What a check looks at. */
export interface CheckedText {
  readonly ctx: RunContext
  /** A sentence of the answer or of the reasoning, the arguments of a call, or the result of a tool. */
  readonly kind: 'text' | 'reasoning' | 'arguments' | 'result'
  /** What was shown of the same text before. */
  readonly before: string
  /** The tool, of arguments and results. */
  readonly tool?: string
}

/** Decides on a text before anybody sees it. */
export type Check = (text: string, about: CheckedText) => Awaitable<Verdict>

/** Applies a verdict. Contract: throws `GUARDRAIL_REFUSED`, without the text; an invalid verdict refuses. */
export function applied(verdict: Verdict, text: string, what: string): string {
  if (verdict === undefined) return text
  if (typeof verdict === 'object' && verdict !== null) {
    if ('replace' in verdict && typeof verdict.replace === 'string') return verdict.replace
    if ('refuse' in verdict && typeof verdict.refuse === 'string') throw refused(what, verdict.refuse)
  }
  throw refused(what, `the check gave no verdict, ${got(verdict)}`)
}

function refused(what: string, reason: string): KernelError {
  return new KernelError('GUARDRAIL_REFUSED', `guardrails: ${what} was refused, ${reason}`, { details: { reason } })
}
