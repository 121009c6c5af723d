import { readRunLog } from '@troupe/ag-ui'
import type { Json, Message, Page, RunRecord, Store, Thread, ThreadRef, ToolCallRecord } from '@troupe/kernel'

/** Everything that a store has of a thread. */
export interface Snapshot {
  readonly thread: Thread | undefined
  readonly messages: readonly StoredMessage[]
  readonly runs: readonly RunRecord[]
  readonly calls: readonly ToolCallRecord[]
  readonly logs: ReadonlyMap<string, readonly { readonly seq: number; readonly event: Json }[]>
}

/** A message with its position in the thread. */
export interface StoredMessage {
  readonly seq: number
  readonly runId: string
  readonly message: Message
}

/** Reads a thread completely, with the logs of these runs. */
export async function snapshot(store: Store, ref: ThreadRef, runIds: Iterable<string>): Promise<Snapshot> {
  const thread = await store.threads.get(ref)
  const messages = await allOf((page) => store.threads.messages(ref, page))
  const runs = await allOf((page) => store.records.runs(ref, page))
  const calls: ToolCallRecord[] = []
  for (const { runId } of runs) calls.push(...(await store.records.toolCalls(ref, runId)))
  const logs = new Map<string, { seq: number; event: Json }[]>()
  for (const runId of runIds) logs.set(runId, await logOf(store, ref, runId))
  return { thread, messages, runs, calls, logs }
}

/** The ids of the calls that wait for a person or a delivery. */
export function awaitedIn({ thread }: Pick<Snapshot, 'thread'>): ReadonlySet<string> {
  const asked = thread?.checkpoint?.interrupts.flatMap(({ callId }) => callId ?? []) ?? []
  return new Set([...asked, ...(thread?.openCalls.map(({ callId }) => callId) ?? [])])
}

const PAGE = 50

async function allOf<T extends { readonly seq: number }>(read: (page: Page) => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const page = await read({ after: all.at(-1)?.seq ?? 0, limit: PAGE })
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

/** Reads what the log of a run has so far. */
export async function logOf({ runLog }: Store, ref: ThreadRef, runId: string): Promise<{ seq: number; event: Json }[]> {
  const events: { seq: number; event: Json }[] = []
  const { signal } = new AbortController()
  try {
    for await (const batch of readRunLog(runLog, ref, runId, { live: false, signal })) {
      for (const { seq, event } of batch) events.push({ seq, event: event as unknown as Json })
    }
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'NOT_FOUND') throw error
  }
  return events
}
