import { EventType, type RunStartedEvent } from '@ag-ui/core'
import type { Thread, ThreadRef } from '@troupe/kernel'
import { openInterrupts } from '../agent/answers-of.ts'
import type { Logged } from '../log/logged.ts'
import { readRunLog } from '../log/read-run-log.ts'
import { lostRunOf } from '../lost/lost-runs.ts'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import { runningIn } from '../session/thread-holds.ts'
import { messageOptions, viewOf } from '../translate/client-view.ts'
import { interruptOf } from '../translate/interrupt-of.ts'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import { canFollow } from './can-follow.ts'
import type { Encoding } from './encoding.ts'
import { historyPages } from './history-pages.ts'
import type { RouteContext } from './route.ts'
import { type HandlerParts, servePieces, serveRun, streamHeaders } from './serve-run.ts'
import { shownState } from './shown-state.ts'

type Pieces = AsyncGenerator<string | Uint8Array, void>

/**
 * Joins a thread again after a page reload: its history, then its active run from the beginning, if there is one, or the run that broke off.
 * Contract: no message appears twice, even if it is stored while the run is replayed; the history is read in pages, at the pace of the reader.
 */
export async function connect(
  parts: HandlerParts,
  thread: Thread,
  hidden: (key: string) => boolean,
  encoding: Encoding,
  context: Pick<RouteContext, 'requestId' | 'prepare' | 'waitUntil'>,
): Promise<Response> {
  const { ref } = thread
  const { requestId } = context
  const runId = runningIn(thread) ?? (parts.lostRuns === 'leave' ? undefined : lostRunOf(thread))
  // A run without events has no log yet.
  if (runId === undefined || !(await canFollow(parts, ref, runId, context))) {
    const pieces = idleThread(parts, thread, hidden, encoding, requestId)
    return servePieces(parts, ref, pieces, encoding, requestId, streamHeaders(encoding.contentType))
  }
  const first = await firstOf(parts, ref, runId)
  if (first?.event.type !== EventType.RUN_STARTED) return serveRun(parts, { ref, runId, after: 0 }, encoding, context)
  const lead = withHistory(parts, ref, first, encoding)
  return serveRun(parts, { ref, runId, after: first.seq, lead }, encoding, context)
}

/** Joins the lost run of a thread from its beginning, for a client that has a part of it: its messages are replaced by those before the run. */
export async function rejoin(
  parts: HandlerParts,
  ref: ThreadRef,
  runId: string,
  encoding: Encoding,
  context: Pick<RouteContext, 'requestId' | 'prepare' | 'waitUntil'>,
): Promise<Response> {
  const first = await firstOf(parts, ref, runId)
  if (first?.event.type !== EventType.RUN_STARTED) return serveRun(parts, { ref, runId, after: 0 }, encoding, context)
  const lead = withSnapshot(parts, ref, first, runId, encoding)
  return serveRun(parts, { ref, runId, after: first.seq, lead }, encoding, context)
}

/** The first event of a run log. */
async function firstOf({ store }: HandlerParts, ref: ThreadRef, runId: string): Promise<Logged | undefined> {
  const { signal } = new AbortController()
  for await (const [first] of readRunLog(store.runLog, ref, runId, { after: 0, live: false, signal })) {
    return first
  }
  return undefined
}

/** Puts the history after RUN_STARTED. The thread has nothing of the run but the messages that began it. */
async function* withSnapshot(
  parts: HandlerParts,
  ref: ThreadRef,
  first: Logged,
  runId: string,
  encoding: Encoding,
): Pieces {
  const started = encoding.encode(first, runId)
  if (started !== undefined) yield started
  const snapshot: AgUiEvent = { type: EventType.MESSAGES_SNAPSHOT, messages: [] }
  const shown = messageOptions(viewOf(parts.agent, ref, first.event))
  yield* encoding.spread(snapshot, historyPages(parts, ref, shown), `${runId}:${first.seq}`)
}

/** Adds the history to RUN_STARTED: in one event, so that a broken connection cannot separate them. */
async function* withHistory(parts: HandlerParts, ref: ThreadRef, { seq, event }: Logged, encoding: Encoding): Pieces {
  const { input, ...started } = event as RunStartedEvent
  const { threadId, runId } = started
  const { messages = [], ...rest } = input ?? {}
  const all = {
    ...started,
    input: { threadId, runId, state: {}, tools: [], context: [], forwardedProps: {}, ...rest, messages: [] },
  }
  const history = historyPages(parts, ref, messageOptions(viewOf(parts.agent, ref, event)), runId)
  yield* encoding.spread(all, withoutRepeats(history, messages), `${runId}:${seq}`)
}

/** The history, then those of the messages that are not in it. */
async function* withoutRepeats(
  pages: AsyncIterable<readonly AgUiMessage[]>,
  messages: readonly AgUiMessage[],
): AsyncGenerator<readonly AgUiMessage[], void> {
  const others = new Map(messages.map((message) => [message.id, message]))
  for await (const page of pages) {
    for (const { id } of page) others.delete(id)
    yield page
  }
  yield [...others.values()]
}

/** The events of a thread without an active run: a run that ends at once. Contract: keeps nothing of the thread but what is to be sent; a state that is too large is left out. */
function idleThread(
  parts: HandlerParts,
  thread: Thread,
  hidden: (key: string) => boolean,
  encoding: Encoding,
  runId: string,
): Pieces {
  const { ref, openCalls } = thread
  const { threadId } = ref
  const view = viewOf(parts.agent, ref)
  const interrupts = openInterrupts(thread).map((asked) => interruptOf(asked, undefined, view.clientToolPrefix))
  const pendingToolCallIds = openCalls.map(({ callId }) => callId)
  const snapshot = shownState(thread.state, hidden, parts.pageChars)
  const started: AgUiEvent = { type: EventType.RUN_STARTED, threadId, runId }
  const begin: readonly AgUiEvent[] = snapshot ? [started, { type: EventType.STATE_SNAPSHOT, snapshot }] : [started]
  const end: AgUiEvent = {
    type: EventType.RUN_FINISHED,
    threadId,
    runId,
    outcome:
      interrupts.length > 0
        ? { type: 'interrupt', interrupts }
        : { type: 'success', ...(pendingToolCallIds.length > 0 && { pendingToolCallIds }) },
  }
  return around(
    encoding,
    begin.map((event) => encoding.aside(event)),
    followedBy(historyPages(parts, ref, messageOptions(view)), toAgUiMessages(thread.checkpoint?.next ?? [])),
    end,
  )
}

/** A history, then messages that wait for the answers to the open questions. */
async function* followedBy(
  history: AsyncIterable<readonly AgUiMessage[]>,
  messages: readonly AgUiMessage[],
): AsyncGenerator<readonly AgUiMessage[], void> {
  yield* history
  if (messages.length > 0) yield messages
}

/** A history between other events. */
async function* around(
  encoding: Encoding,
  begin: (string | Uint8Array)[],
  history: AsyncIterable<readonly AgUiMessage[]>,
  end: AgUiEvent,
): Pieces {
  // A state that was sent is not kept while its reader takes the history.
  while (begin.length > 0) yield begin.shift() ?? ''
  yield* encoding.spread({ type: EventType.MESSAGES_SNAPSHOT, messages: [] }, history)
  yield encoding.aside(end)
}
