import type { ContinueRequest, Restored, Run, RunContext, ThreadRef } from '@troupe/kernel'
import { ShownEvents } from '@troupe/kernel/journal'
import { type RunSettings, startRun } from '@troupe/kernel/run'
import { LateRun } from './late-run.ts'
import { nothingToContinue, reopenThread } from './reopen-thread.ts'
import type { RunJournal } from './run-journal.ts'
import type { FlowRequest, RunnerParts } from './runner-parts.ts'
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
    const shown = request.shown && new ShownEvents(request.shown)
    let restored: Restored = {}
    let journal: RunJournal | undefined
    const host = new ThreadRun(
      parts,
      runId,
      session,
      { busy },
      {
        async open(leased) {
          const options = {
            ...(restore && { restore }),
            ...(shown && { shown: (ctx: RunContext) => shown.partsOf(ctx) }),
          }
          const work = await reopenThread(parts, leased, options)
          restored = work.restored
          journal = work.journal
          return work
        },
        shows(event) {
          const unseen = shown ? shown.unseen(event) : journal?.replaying ? undefined : event
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
