import { type AgUiEvent, type AgUiMessage, readRunLog, toAgUiMessages } from '@troupe/ag-ui'
import { KernelError, type Message, type Store, type ThreadRef, textOf } from '@troupe/kernel'
import { pages } from '@troupe/kernel/kit'

/** Rows in one query; messages and records may be large. */
const PAGE = 20

/** One run of a conversation, as the page showed it. */
export interface PastRun {
  readonly runId: string
  readonly userMessages: readonly { readonly id: string; readonly text: string }[]
  /** Results that the page itself gave, for which there are no events. */
  readonly results: readonly { readonly toolCallId: string; readonly text: string }[]
  /** The events as they were sent. Contract: empty if the run has no log; then `messages` replaces them. */
  readonly events: readonly AgUiEvent[]
  readonly messages: readonly AgUiMessage[]
}

/** A conversation as it was shown, and the id of its active run. */
export interface History {
  readonly running: string | undefined
  readonly runs: readonly PastRun[]
}

/**
 * The history of a conversation as JSON, run by run in order; of the active run only the messages of the user.
 * Contract: has one run in memory at a time, and reads the next one when it is asked for.
 */
export async function* historyText(
  store: Store,
  ref: ThreadRef,
  running: string | undefined,
): AsyncGenerator<string, void> {
  const spans = await spansOf(store, ref)
  let before = `{${running === undefined ? '' : `"running":${JSON.stringify(running)},`}"runs":[`
  for (const [runId, span] of spans) {
    yield before + JSON.stringify(await pastRun(store, ref, runId, span, runId === running))
    before = ','
  }
  yield before === ',' ? ']}' : `${before}]}`
}

async function pastRun(
  store: Store,
  ref: ThreadRef,
  runId: string,
  span: Span | undefined,
  isRunning: boolean,
): Promise<PastRun> {
  const messages = span ? await messagesOf(store, ref, runId, span) : []
  const userMessages = messages
    .filter(({ role }) => role === 'user')
    .map(({ id, content }) => ({ id, text: textOf(content) }))
  const results = messages.flatMap((message) =>
    message.role === 'tool' ? [{ toolCallId: message.callId, text: textOf(message.content) }] : [],
  )
  if (isRunning) return { runId, userMessages, results, events: [], messages: [] }
  const events = await loggedEvents(store, ref, runId)
  const shown = events.length > 0 ? [] : messages.filter(({ role }) => role !== 'user')
  return { runId, userMessages, results, events, messages: toAgUiMessages(shown) }
}

/** The sequences of the first and the last message of a run. */
interface Span {
  readonly first: number
  readonly last: number
}

/** The runs of a conversation in order, those without messages too. */
async function spansOf({ threads, records }: Store, ref: ThreadRef): Promise<ReadonlyMap<string, Span | undefined>> {
  const spans = new Map<string, Span | undefined>()
  for await (const page of pages(PAGE, (query) => threads.messages(ref, query))) {
    for (const { runId, seq } of page) spans.set(runId, { first: spans.get(runId)?.first ?? seq, last: seq })
  }
  for await (const page of pages(PAGE, (query) => records.runs(ref, query))) {
    for (const { runId, parentRunId } of page) {
      if (parentRunId !== undefined) continue
      // In the order of the records.
      const span = spans.get(runId)
      spans.delete(runId)
      spans.set(runId, span)
    }
  }
  return spans
}

async function messagesOf(
  { threads }: Store,
  ref: ThreadRef,
  runId: string,
  { first, last }: Span,
): Promise<Message[]> {
  const messages: Message[] = []
  for (let after = first - 1; after < last; ) {
    const rows = await threads.messages(ref, { after, limit: Math.min(PAGE, last - after) })
    for (const row of rows) if (row.runId === runId) messages.push(row.message)
    after = rows.at(-1)?.seq ?? last
  }
  return messages
}

async function loggedEvents(store: Store, ref: ThreadRef, runId: string): Promise<readonly AgUiEvent[]> {
  const events: AgUiEvent[] = []
  const { signal } = new AbortController()
  try {
    for await (const batch of readRunLog(store.runLog, ref, runId, { live: false, signal })) {
      for (const { event } of batch) events.push(event)
    }
  } catch (error) {
    if (!KernelError.is(error, 'NOT_FOUND')) throw error
  }
  return events
}
