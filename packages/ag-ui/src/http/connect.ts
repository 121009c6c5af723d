import { EventType, type RunStartedEvent } from '@ag-ui/core'
import type { Message, Thread, ThreadRef } from '@troupe/kernel'
import { openInterrupts } from '../agent/answers-of.ts'
import { lostRunOf } from '../lost/lost-runs.ts'
import { storedHistory } from '../lost/stored-history.ts'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import type { Logged } from '../run/tail.ts'
import { runningIn } from '../session/thread-holds.ts'
import { interruptOf } from '../translate/outcome-of.ts'
import { SharedState } from '../translate/shared-state.ts'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import { canFollow } from './can-follow.ts'
import type { Encoding } from './encoding.ts'
import type { RouteContext } from './route.ts'
import { type HandlerParts, serveEvents, serveRun } from './serve-run.ts'

/**
 * Joins a thread again after a page reload: its history, then its active run from the beginning, if there is one, or the run that broke off.
 * Contract: no message appears twice, even if it is stored while the run is replayed.
 */
export async function connect(
  parts: HandlerParts,
  thread: Thread,
  hidden: (key: string) => boolean,
  encoding: Encoding,
  context: Pick<RouteContext, 'requestId' | 'waitUntil'>,
): Promise<Response> {
  const { ref } = thread
  const runId = runningIn(thread) ?? (parts.lostRuns === 'leave' ? undefined : lostRunOf(thread))
  const stored = await storedHistory(parts.store.threads, ref)
  // A run without events has no log yet.
  if (runId === undefined || !(await canFollow(parts, ref, runId, context))) {
    const messages = toAgUiMessages(stored.map(({ message }) => message))
    return serveEvents(idleThreadEvents(thread, messages, hidden, context.requestId), encoding)
  }
  const past = stored.filter((row) => row.runId !== runId || row.message.role === 'user').map(({ message }) => message)
  const map = (batch: readonly Logged[]) =>
    batch.map((logged) => (logged.event.type === EventType.RUN_STARTED ? withHistory(logged, past) : logged))
  return serveRun(parts, { ref, runId, after: 0, map }, encoding, context)
}

/** Joins the lost run of a thread from its beginning, for a client that has a part of it: its messages are replaced by those before the run. */
export async function rejoin(
  parts: HandlerParts,
  ref: ThreadRef,
  runId: string,
  encoding: Encoding,
  context: Pick<RouteContext, 'requestId' | 'waitUntil'>,
): Promise<Response> {
  // The thread has nothing of the run but the messages that began it.
  const messages = toAgUiMessages((await storedHistory(parts.store.threads, ref)).map(({ message }) => message))
  const snapshot: AgUiEvent = { type: EventType.MESSAGES_SNAPSHOT, messages }
  const map = (batch: readonly Logged[]) =>
    batch.flatMap((logged) =>
      logged.event.type === EventType.RUN_STARTED ? [logged, { seq: logged.seq, event: snapshot }] : [logged],
    )
  return serveRun(parts, { ref, runId, after: 0, map }, encoding, context)
}

/** Adds the history to RUN_STARTED: in one event, so that a broken connection cannot separate them. */
function withHistory({ seq, event }: Logged, past: readonly Message[]): Logged {
  const started = event as RunStartedEvent
  const { threadId, runId, input } = started
  const known = toAgUiMessages(past)
  const ids = new Set(known.map(({ id }) => id))
  const messages = [...known, ...(input?.messages ?? []).filter(({ id }) => !ids.has(id))]
  return { seq, event: { ...started, input: { threadId, runId, tools: [], context: [], ...input, messages } } }
}

/** The events of a thread without an active run: a run that ends at once. */
function idleThreadEvents(
  thread: Thread,
  messages: AgUiMessage[],
  hidden: (key: string) => boolean,
  runId: string,
): AgUiEvent[] {
  const { threadId } = thread.ref
  const interrupts = openInterrupts(thread).map(interruptOf)
  const pendingToolCallIds = thread.openCalls.map(({ callId }) => callId)
  return [
    { type: EventType.RUN_STARTED, threadId, runId },
    { type: EventType.STATE_SNAPSHOT, snapshot: new SharedState(thread.state, hidden).snapshot },
    { type: EventType.MESSAGES_SNAPSHOT, messages },
    {
      type: EventType.RUN_FINISHED,
      threadId,
      runId,
      outcome:
        interrupts.length > 0
          ? { type: 'interrupt', interrupts }
          : { type: 'success', ...(pendingToolCallIds.length > 0 && { pendingToolCallIds }) },
    },
  ]
}
