import { type AgUiEvent, type AgUiMessage, toAgUiMessages } from '@troupe/ag-ui'
import { KernelError, type Message, type RunRecord, type Store, type ThreadRef, textOf } from '@troupe/kernel'

const PAGE = 500

/** One run of a conversation: what the user said, and what was shown of it. */
export interface PastRun {
  readonly runId: string
  readonly said: readonly { readonly id: string; readonly text: string }[]
  /** Results that the page itself gave, which no event repeats. */
  readonly answers: readonly { readonly toolCallId: string; readonly text: string }[]
  /** As they were sent. Contract: none if the run left no log; then `messages` stand for it. */
  readonly events: readonly AgUiEvent[]
  readonly messages: readonly AgUiMessage[]
}

/** A conversation as it was shown, and the run that is under way. */
export interface History {
  readonly running: string | undefined
  readonly runs: readonly PastRun[]
}

/** The runs of a conversation, in order; of the one under way only what the user said. */
export async function historyOf(store: Store, ref: ThreadRef, running: string | undefined): Promise<History> {
  const byRun = await messagesByRun(store, ref)
  for (const { runId } of await rootRuns(store, ref)) {
    // A run that wrote no message is there too, in its place among those that have a record.
    const messages = byRun.get(runId) ?? []
    byRun.delete(runId)
    byRun.set(runId, messages)
  }
  const runs = [...byRun].map(async ([runId, messages]): Promise<PastRun> => {
    const said = messages
      .filter(({ role }) => role === 'user')
      .map(({ id, content }) => ({ id, text: textOf(content) }))
    const answers = messages.flatMap((message) =>
      message.role === 'tool' ? [{ toolCallId: message.callId, text: textOf(message.content) }] : [],
    )
    if (runId === running) return { runId, said, answers, events: [], messages: [] }
    const events = await loggedEvents(store, ref, runId)
    const spoken = events.length > 0 ? [] : messages.filter(({ role }) => role !== 'user')
    return { runId, said, answers, events, messages: toAgUiMessages(spoken) }
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
