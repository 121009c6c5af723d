import { type Json, KernelError, type Store, type ThreadRef } from '@troupe/kernel'
import { messageOptions, viewOf } from '../agent/client-view.ts'
import { compactLog } from '../log/compact-log.ts'
import { hasStoredEnd, storedEnd } from '../lost/stored-end.ts'
import { storedHistory } from '../lost/stored-history.ts'
import { UnseenEvents } from '../lost/unseen-events.ts'
import { type AgUiEvent, isTerminal } from '../protocol.ts'
import { threadKey } from '../session/thread-key.ts'
import { EventTranslator } from '../translate/event-translator.ts'
import { runError } from '../translate/run-error.ts'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import type { Executions } from './executions.ts'
import { loggedEvents } from './logged-events.ts'
import type { ServedAgent } from './served-agent.ts'

/** A run that nobody writes the log of. */
interface LostLog {
  readonly executions: Executions
  readonly store: Pick<Store, 'threads' | 'runLog'>
  readonly ref: ThreadRef
  readonly runId: string
  /** The last sequence that its follower has. */
  readonly after: number
  readonly agent: Pick<ServedAgent, 'hidden' | 'view'>
  readonly report: (error: KernelError) => void
}

const RUN_LOST: AgUiEvent = runError(new KernelError('RUN_LOST', 'The server of this run is gone.'))

type Rest = readonly AgUiEvent[] | undefined

/**
 * Closes the log of a run whose process is gone: with its end, if the thread has it, else with a RUN_ERROR.
 * Contract: leaves a log alone that has grown or was closed meanwhile, so a second follower changes nothing; gives the rest of a log that cannot be
 * written. The log and the thread are read once for all followers at the end of a log.
 */
export function closeLost(log: LostLog): Promise<Rest> {
  const { executions, ref, runId, after } = log
  return executions.once(threadKey(ref, runId, 'close', String(after)), () => close(log))
}

async function close(log: LostLog): Promise<Rest> {
  const { executions, store, ref, runId, after } = log
  const before = Math.max(0, after - 1)
  const last = await loggedEvents(store.runLog, ref, runId, before)
  // A reader may claim to have seen more than was ever said.
  const known = last.length > 0 ? last : await loggedEvents(store.runLog, ref, runId)
  const end = last.length > 0 ? before + last.length : known.length
  if (end > after || known.some(isTerminal)) return undefined
  const rest = (await endOf(log)) ?? [RUN_LOST]
  try {
    await store.runLog.append(ref, runId, end, rest as unknown as readonly Json[], true)
    const compacted = executions.once(threadKey(ref, runId, 'compact'), () => compactLog(store.runLog, ref, runId))
    void compacted.catch((error: unknown) => log.report(KernelError.from(error)))
  } catch (error) {
    if (KernelError.is(error, 'STORE_FULL') || KernelError.is(error, 'STORE_READ_ONLY')) return rest
    if (!KernelError.is(error, 'VERSION_CONFLICT') && !KernelError.is(error, 'NOT_FOUND')) throw error
  }
  return undefined
}

/** What readers have not seen of a run that has ended in its thread. */
async function endOf({ agent, store, ref, runId }: LostLog): Promise<Rest> {
  const thread = await store.threads.get(ref)
  if (!thread || !(await hasStoredEnd(store.threads, thread, runId))) return undefined
  const rows = await storedHistory(store.threads, ref)
  const events = storedEnd(thread, rows, runId)
  if (!events) return undefined
  const seen = await loggedEvents(store.runLog, ref, runId)
  const view = viewOf(agent, ref, seen[0])
  const before = rows.filter((row) => row.runId !== runId).map(({ message }) => message)
  const history = toAgUiMessages(before, messageOptions(view))
  const hidden = (key: string) => agent.hidden?.(key) === true
  const { state } = thread
  const translator = new EventTranslator({ threadId: ref.threadId, runId, history, state, hidden, ...view })
  const unseen = new UnseenEvents(seen, () => translator.snapshot())
  return events.flatMap((event) => unseen.pass(translator.translate(event)))
}
