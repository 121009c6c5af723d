import type { ContinueRequest, Restored, Run, RunContext, ThreadRef } from '@troupe/kernel'
import { ShownEvents } from '@troupe/kernel/journal'
import { type RunSettings, startRun } from '@troupe/kernel/run'
import { LateRun } from './late-run.ts'
import { nothingToContinue, reopenThread } from './reopen-thread.ts'
import type { RunJournal } from './run-journal.ts'
import type { FlowRequest, RunnerParts } from './runner-parts.ts'
import { settleLost } from './settle-lost.ts'
import { ThreadRun } from './thread-run.ts'

/** Goes on with the run of a thread whose process died. Contract: two that continue the same run exclude each other by its lease. */
export function continueRun<Output>(
  parts: RunnerParts,
  session: ThreadRef,
  request: ContinueRequest,
  settingsOf: (request: FlowRequest, runId: string) => RunSettings,
): Run<Output> {
  const find = async () => {
    const thread = await parts.store.threads.get(session)
    const { unfinished: runId } = thread ?? {}
    if (runId === undefined || (request.runId ?? runId) !== runId) throw nothingToContinue(session)
    const { busy = 'reject', restore, again } = request
    let shown: ShownEvents | undefined
    let restored: Restored = {}
    let journal: RunJournal | undefined
    const host = new ThreadRun(
      parts,
      runId,
      session,
      { busy },
      {
        async open(leased) {
          // Until the lease is taken, the process before may show more.
          const seen = typeof request.shown === 'object' ? new ShownEvents(request.shown) : undefined
          const takenBack = typeof request.shown === 'function' ? request.shown : seen?.partsOf.bind(seen)
          shown = seen
          const work = await reopenThread(parts, leased, {
            ...(restore && { restore }),
            ...(takenBack && { shown: takenBack }),
          })
          restored = work.restored
          journal = work.journal
          return {
            ...work,
            settle: () => settleLost(parts, { ref: session, unfinished: runId }, leased.token),
            ...(seen && !again && { unseenChanges: (state) => seen.unseenChanges(state) }),
          }
        },
        shows(event) {
          const unseen = shown ? shown.unseen(event) : journal?.hasShown(event) ? undefined : event
          return again ? event : unseen
        },
      },
    )
    const prepare = (ctx: RunContext) => restored.prepare?.(ctx) ?? ctx
    const settings = { ...settingsOf({ ...request, prepare }, runId), session, canInterrupt: true }
    return { run: startRun<Output>(parts.flow, { messages: [] }, settings, host) }
  }
  return new LateRun(find, request.runId)
}
