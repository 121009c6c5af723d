import type { Message, RunContext } from '@troupe/kernel'
import { THREAD_VIEW, type ThreadView } from '@troupe/kernel/kit'

/** The thread of a run, if a flow runs its agents. */
export function threadOf(ctx: RunContext): ThreadView | undefined {
  const view = ctx.get(THREAD_VIEW)
  return view?.runId === ctx.runId ? view : undefined
}

/** Tells the messages of a thread from those that are shown for this run alone. Contract: without a thread, all count as its own. */
export function inThread(ctx: RunContext): (message: Message) => boolean {
  let ids: ReadonlySet<string> | undefined
  return ({ id }) => {
    ids ??= idsOf(threadOf(ctx))
    return ids === undefined || ids.has(id)
  }
}

function idsOf(thread: ThreadView | undefined): ReadonlySet<string> | undefined {
  return thread && new Set(thread.messages.map(({ id }) => id))
}
