import { type Json, KernelError } from '@troupe/kernel'
import { ThreadLog } from '../thread-log.ts'
import { checkInput } from './check-input.ts'
import { openWithAnswers, openWithInput, type PendingPolicy } from './opening.ts'
import type { LeasedRun } from './reopen-thread.ts'
import { RunJournal } from './run-journal.ts'
import type { RunnerParts } from './runner-parts.ts'
import { settleLost } from './settle-lost.ts'
import { type RunIntent, ThreadUpdate } from './thread-update.ts'
import type { ThreadWork } from './thread-work.ts'

/** Opens the thread of a new run. Contract: throws before anything of the run is stored; a lost run of the thread is settled first. */
export async function openThread(
  parts: RunnerParts,
  intent: RunIntent,
  { ref, runId, token, fresh = false, thread: seen, write, writeLast }: LeasedRun,
  pending: PendingPolicy,
  carry: Json | undefined,
): Promise<ThreadWork> {
  const { store, flow, clock } = parts
  checkInput({ messages: [], ...intent.input })
  let found = seen === undefined ? await store.threads.get(ref) : (seen ?? undefined)
  if (found?.unfinished === runId) {
    throw new KernelError(
      'RUN_ID_TAKEN',
      `run ${runId}: this run broke off; go on with it by continue(), or use a new runId`,
    )
  }
  if (found?.unfinished !== undefined) found = await settleLost(parts, found, token)
  const opening = intent.answers
    ? await openWithAnswers(flow, found, intent, clock)
    : openWithInput(flow, found ?? { openCalls: [] }, intent.input, pending)
  const thread = found ?? (await store.threads.open(ref))
  const log = new ThreadLog([])
  const update = new ThreadUpdate({
    runner: parts,
    runId,
    intent,
    thread,
    opening,
    token,
    fresh,
    write,
    writeLast,
    log,
    carry,
  })
  await update.open()
  const { journal } = store
  const { kept } = update
  if (parts.durability === 'turn' || !journal) return { update, log, journal: undefined, kept }
  return { update, log, kept, journal: new RunJournal({ journal, clock, ref, runId, token, write }, { by: token }) }
}
