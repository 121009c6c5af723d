import type { Message, Thread, ThreadRef, ThreadStore } from '@troupe/kernel'
import { awaitedCalls } from './checkpoint.ts'
import { beginningAt } from './history-window.ts'
import type { RunnerParts } from './runner-parts.ts'
import { StoredHistory } from './stored-history.ts'
import { alreadyThere, checkNew, type LoadedMessages, loadMessages, loadNewest } from './thread-messages.ts'

/** What a run finds in its thread. */
export interface FoundHistory {
  /** What is kept of it for the next run. */
  readonly before: StoredHistory
  /** What the agents see of it. */
  readonly shown: StoredHistory
}

/** A run that begins. */
interface NewRun {
  readonly runId: string
  /** Whether no run has begun with its id before. */
  readonly fresh: boolean
  /** The messages that it was given. */
  readonly given: readonly Message[]
}

/** Finds the history for a new run. Contract: throws `RUN_ID_TAKEN` or `VALIDATION_FAILED` if the run or its messages are not new. */
export async function findHistory(parts: RunnerParts, thread: Thread, run: NewRun): Promise<FoundHistory> {
  const { window, histories, store } = parts
  const { threads } = store
  const { ref } = thread
  const kept = histories.of(thread) ?? emptyOf(thread)
  if (!window) {
    const before = kept ?? (await loadMessages(threads, ref, run.runId)).before
    checkNew(before, run.runId, run.given)
    return { before, shown: before }
  }
  const start = window.beginning(awaitedCalls(thread), thread)
  const startIn = ({ messages, whole }: StoredHistory) =>
    start.startIn({ messages, older: whole ? 'none' : 'left-out' })
  // Without an index, only the whole thread tells what it has.
  const asks = run.fresh && threads.known !== undefined
  const usable = kept && (asks || kept.whole) && startIn(kept) !== undefined ? kept : undefined
  const read = () => (asks ? loadNewest(threads, ref, run.runId, start) : loadMessages(threads, ref, run.runId))
  const found = usable ?? (await read()).before
  checkNew(found, run.runId, run.given)
  if (!found.whole) await checkUnknown(threads, ref, run)
  const shown = found.from(startIn(found) ?? 0)
  return { before: threads.known ? shown : found, shown }
}

/** The history of a thread that nobody has written to yet. */
function emptyOf({ version, forkedFrom }: Thread): StoredHistory | undefined {
  return version === 0 && !forkedFrom ? new StoredHistory([], new Set()) : undefined
}

/** Loads the history of a run that goes on, as it was when the run began: from this message on, or all of it. */
export function historyFrom(
  { store: { threads } }: RunnerParts,
  ref: ThreadRef,
  runId: string,
  from: string | undefined,
): Promise<LoadedMessages> {
  return from === undefined ? loadMessages(threads, ref, runId) : loadNewest(threads, ref, runId, beginningAt(from))
}

async function checkUnknown(threads: ThreadStore, ref: ThreadRef, { runId, given }: NewRun): Promise<void> {
  if (given.length === 0) return
  const ids = given.map(({ id }) => id)
  const [known] = (await threads.known?.(ref, ids)) ?? []
  if (known !== undefined) throw alreadyThere(runId, known)
}
