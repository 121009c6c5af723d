import { type Json, KernelError, type RunLogStore, type Store, type ThreadRef } from '@troupe/kernel'
import { compactLog } from '../log/compact-log.ts'
import { readRunLog } from '../log/read-run-log.ts'
import { type RunRow, rowsOfOthers, rowsOfRun } from '../lost/rows-of-run.ts'
import { hasStoredEnd, storedEnd } from '../lost/stored-end.ts'
import { UnseenEvents } from '../lost/unseen-events.ts'
import { type AgUiEvent, isTerminal } from '../protocol.ts'
import { threadKey } from '../session/thread-key.ts'
import { messageOptions, viewOf } from '../translate/client-view.ts'
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

/** How many characters of a log, of its run and of the thread before it are read to find its end, each. */
const MOST_CHARS = 1_000_000

/**
 * Closes the log of a run whose process is gone: with its end, if the thread has it, else with a RUN_ERROR.
 * Contract: leaves a log alone that has grown or was closed meanwhile, so a second follower changes nothing; gives the rest of a log that cannot be
 * written. The log and the thread are read once for all followers at the end of a log, and no more of them is kept than `MOST_CHARS`.
 */
export function closeLost(log: LostLog): Promise<Rest> {
  const { executions, ref, runId, after } = log
  return executions.once(threadKey(ref, runId, 'close', String(after)), () => close(log))
}

async function close(log: LostLog): Promise<Rest> {
  const { executions, store, ref, runId, after } = log
  const before = Math.max(0, after - 1)
  const found = await extentOf(store.runLog, ref, runId, before)
  // A reader may claim to have seen more than was ever said.
  const { last, ended } = found.last > before ? found : await extentOf(store.runLog, ref, runId, 0)
  if (last > after || ended) return undefined
  const rest = (await endOf(log)) ?? [RUN_LOST]
  try {
    await store.runLog.append(ref, runId, last, rest as unknown as readonly Json[], true)
    const compacted = executions.once(threadKey(ref, runId, 'compact'), () => compactLog(store.runLog, ref, runId))
    void compacted.catch((error: unknown) => log.report(KernelError.from(error)))
  } catch (error) {
    if (KernelError.is(error, 'STORE_FULL') || KernelError.is(error, 'STORE_READ_ONLY')) return rest
    if (!KernelError.is(error, 'VERSION_CONFLICT') && !KernelError.is(error, 'NOT_FOUND')) throw error
  }
  return undefined
}

/** How far a log goes, and whether the run has ended in it, after a sequence. */
async function extentOf(
  log: RunLogStore,
  ref: ThreadRef,
  runId: string,
  after: number,
): Promise<{ readonly last: number; readonly ended: boolean }> {
  const { signal } = new AbortController()
  let [last, ended] = [after, false]
  try {
    for await (const batch of readRunLog(log, ref, runId, { after, live: false, signal })) {
      last = batch.at(-1)?.seq ?? last
      ended ||= batch.some(({ event }) => isTerminal(event))
    }
  } catch (error) {
    if (!KernelError.is(error, 'NOT_FOUND')) throw error
  }
  return { last, ended }
}

/** What readers have not seen of a run that has ended in its thread. Contract: undefined if more than `MOST_CHARS` would have to be read. */
async function endOf({ agent, store, ref, runId }: LostLog): Promise<Rest> {
  const thread = await store.threads.get(ref)
  if (!thread || !(await hasStoredEnd(store.threads, thread, runId))) return undefined
  const rows = await rowsOfRun(store.threads, ref, runId, MOST_CHARS)
  const events = rows && storedEnd(thread, rows, runId)
  const seen = events && (await loggedEvents(store.runLog, ref, runId, MOST_CHARS))
  if (!events || !seen) return undefined
  const view = viewOf(agent, ref, seen[0])
  const others = await rowsOfOthers(store.threads, ref, runId, MOST_CHARS)
  if (!others && answersEarlierCalls(rows)) return undefined
  const history = others && toAgUiMessages(others, messageOptions(view))
  const hidden = (key: string) => agent.hidden?.(key) === true
  const translator = new EventTranslator({
    threadId: ref.threadId,
    runId,
    ...(history && { history }),
    state: thread.state,
    hidden,
    ...view,
  })
  let corrects = false
  const unseen = new UnseenEvents(seen, () => {
    corrects = true
    return translator.snapshot()
  })
  const rest = events.flatMap((event) => unseen.pass(translator.translate(event)))
  return corrects && !history ? undefined : rest
}

/** Whether a run has results of calls that another run made. */
function answersEarlierCalls(rows: readonly RunRow[]): boolean {
  const calls = rows.flatMap(({ message }) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  return rows.some(({ message }) => message.role === 'tool' && !calls.some(({ id }) => id === message.callId))
}
