import type { RunContext } from '@troupe/kernel'
import { THREAD_VIEW, type ThreadView } from '@troupe/kernel/kit'

/** The thread of a run, if a flow runs its agents. */
export function threadOf(ctx: RunContext): ThreadView | undefined {
  const view = ctx.get(THREAD_VIEW)
  return view?.runId === ctx.runId ? view : undefined
}
