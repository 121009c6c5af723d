import { type Json, KernelError, type Store, type ThreadRef } from '@troupe/kernel'
import { storedEnd } from '../lost/stored-end.ts'
import { storedHistory } from '../lost/stored-history.ts'
import { UnseenEvents } from '../lost/unseen-events.ts'
import { type AgUiEvent, isTerminal } from '../protocol.ts'
import { EventTranslator } from '../translate/event-translator.ts'
import { runError } from '../translate/run-error.ts'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import { loggedEvents } from './logged-events.ts'

/** A run that nobody writes the log of. */
interface LostLog {
  readonly store: Pick<Store, 'threads' | 'runLog'>
  readonly ref: ThreadRef
  readonly runId: string
  /** The last sequence that its follower has. */
  readonly after: number
  readonly hidden: (key: string) => boolean
}

const RUN_LOST: AgUiEvent = runError(new KernelError('RUN_LOST', 'The server of this run is gone.'))

/**
 * Closes the log of a run whose process is gone: with its end, if the thread has it, else with a RUN_ERROR.
 * Contract: leaves a log alone that has grown or was closed meanwhile, so a second follower changes nothing; gives the rest of a log that cannot be written.
 */
export async function closeLost(log: LostLog): Promise<readonly AgUiEvent[] | undefined> {
  const { store, ref, runId, after } = log
  const seen = await loggedEvents(store.runLog, ref, runId)
  if (seen.length > after || seen.some(isTerminal)) return undefined
  const rest = (await endOf(log, seen)) ?? [RUN_LOST]
  try {
    await store.runLog.append(ref, runId, seen.length, rest as unknown as readonly Json[], true)
  } catch (error) {
    if (KernelError.is(error, 'STORE_FULL') || KernelError.is(error, 'STORE_READ_ONLY')) return rest
    if (!KernelError.is(error, 'VERSION_CONFLICT') && !KernelError.is(error, 'NOT_FOUND')) throw error
  }
  return undefined
}

/** What readers have not seen of a run that has ended in its thread. */
async function endOf(
  { store, ref, runId, hidden }: LostLog,
  seen: readonly AgUiEvent[],
): Promise<readonly AgUiEvent[] | undefined> {
  const thread = await store.threads.get(ref)
  const rows = thread ? await storedHistory(store.threads, ref) : []
  const events = thread && storedEnd(thread, rows, runId)
  if (!events) return undefined
  const history = toAgUiMessages(rows.filter((row) => row.runId !== runId).map(({ message }) => message))
  const { state } = thread
  const translator = new EventTranslator({ threadId: ref.threadId, runId, history, state, hidden })
  const unseen = new UnseenEvents(seen, () => translator.snapshot())
  return events.flatMap((event) => unseen.pass(translator.translate(event)))
}
