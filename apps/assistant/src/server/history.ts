import { type AgUiEvent, type AgUiMessage, toAgUiMessages } from '@troupe/ag-ui'
import { KernelError, type Message, type RunRecord, type Store, type ThreadRef, textOf } from '@troupe/kernel'

const PAGE = 500

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

/** Loads the runs of a conversation, in order; of the active one only the messages of the user. */
export async function historyOf(store: Store, ref: ThreadRef, running: string | undefined): Promise<History> {
  const byRun = await messagesByRun(store, ref)
  for (const { runId } of await rootRuns(store, ref)) {
    // A run without messages is included too, in the order of the records.
    const messages = byRun.get(runId) ?? []
    byRun.delete(runId)
    byRun.set(runId, messages)
  }
  const runs = [...byRun].map(async ([runId, messages]): Promise<PastRun> => {
    const userMessages = messages
      .filter(({ role }) => role === 'user')
      .map(({ id, content }) => ({ id, text: textOf(content) }))
    const results = messages.flatMap((message) =>
      message.role === 'tool' ? [{ toolCallId: message.callId, text: textOf(message.content) }] : [],
    )
    if (runId === running) return { runId, userMessages, results, events: [], messages: [] }
    const events = await loggedEvents(store, ref, runId)
    const shown = events.length > 0 ? [] : messages.filter(({ role }) => role !== 'user')
    return { runId, userMessages, results, events, messages: toAgUiMessages(shown) }
  })
  return { running, runs: await Promise.all(runs) }
}

async function messagesByRun({ threads }: Store, ref: ThreadRef): Promise<Map<string, Message[]>> {
  const byRun = new Map<string, Message[]>()
  for (let after = 0; ; ) {
    const rows = await threads.messages(ref, { after, limit: PAGE })
    for (const { runId, message } of rows) byRun.set(runId, [...(byRun.get(runId) ?? []), message])
    const last = rows.at(-1)
    if (rows.length < PAGE || !last) return byRun
    after = last.seq
  }
}

async function rootRuns({ records }: Store, ref: ThreadRef): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = []
  for (let after = 0; ; ) {
    const page = await records.runs(ref, { after, limit: PAGE })
    runs.push(...page.filter(({ parentRunId }) => parentRunId === undefined))
    const last = page.at(-1)
    if (page.length < PAGE || !last) return runs
    after = last.seq
  }
}

async function loggedEvents(store: Store, ref: ThreadRef, runId: string): Promise<readonly AgUiEvent[]> {
  const events: AgUiEvent[] = []
  const { signal } = new AbortController()
  try {
    for await (const batch of store.runLog.follow(ref, runId, { live: false, signal })) {
      for (const { event } of batch) events.push(event as AgUiEvent)
    }
  } catch (error) {
    if (!KernelError.is(error, 'NOT_FOUND')) throw error
  }
  return events
}
