import {
  type Json,
  KernelError,
  type Message,
  type Outcome,
  type RecordCommand,
  type RunRecord,
  type Store,
  type Thread,
  type ThreadRef,
  type ThreadSummary,
  type ToolCallRecord,
  type Usage,
} from '@troupe/kernel'

/** How long leases are in the suite. */
export const TTL = 30_000

/** A thread of anna's. */
export function anna(threadId = 'thread-1'): ThreadRef {
  return { app: 'app', user: 'anna', threadId }
}

/** A thread of ben's, with the same id as anna's by default. */
export function ben(threadId = 'thread-1'): ThreadRef {
  return { app: 'app', user: 'ben', threadId }
}

/** The code a promise rejects with; undefined if it does not. */
export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise
    return undefined
  } catch (error) {
    if (KernelError.is(error)) return error.code
    throw error
  }
}

/** Opens a thread and takes its lease. */
export async function hold(store: Store, ref: ThreadRef, runId = 'run-1'): Promise<number> {
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId, ttlMs: TTL })
  return token
}

/** Begins the journal of a run in a thread that is held. */
export function begin(
  store: Store,
  ref: ThreadRef,
  token: number,
  entries: readonly Json[],
  runId = 'run-1',
): Promise<Thread> {
  return store.threads.commit(ref, { journal: { runId, entries } }, token)
}

/** A thread as lists give it. */
export async function summaryOf({ threads }: Store, ref: ThreadRef): Promise<ThreadSummary> {
  const { state: _1, openCalls: _2, checkpoint: _3, ...summary } = (await threads.get(ref)) as Thread
  return summary
}

/** The entries of the journal of a thread. */
export async function entriesOf(store: Store, ref: ThreadRef): Promise<readonly Json[] | undefined> {
  return (await store.journal.read(ref))?.entries
}

/** A message as `commit` takes it. */
export function said(id: string, text: string = id): { readonly runId: string; readonly message: Message } {
  return { runId: 'run-1', message: { id, role: 'user', content: text } }
}

/** The command that starts a run. */
export function start(runId: string, more: Partial<RunRecord> = {}): RecordCommand {
  return { type: 'run-start', run: { runId, agentName: 'agent', startedAt: 1, ...more } }
}

/** The command that finishes a run. */
export function finish(runId: string, status: Outcome = 'complete'): RecordCommand {
  return { type: 'run-finish', runId, status, endedAt: 2 }
}

/** The command that writes text of a run. */
export function textAt(offset: number, text: string, runId = 'run-1'): RecordCommand {
  return { type: 'run-text', runId, offset, text }
}

/** The command that writes a tool call. */
export function call(
  callId: string,
  status: ToolCallRecord['status'],
  more: Partial<ToolCallRecord> = {},
): RecordCommand {
  const fixed = { runId: 'run-1', messageId: 'message-1', name: 'weather', arguments: '{}', startedAt: 1 }
  return { type: 'tool-call', call: { callId, ...fixed, status, ...more } }
}

/** The command that counts 10 tokens in and 1 out by default. */
export function used(spanId: string, usage: Partial<Usage> = {}, runId = 'run-1'): RecordCommand {
  return { type: 'usage', runId, spanId, model: 'model', usage: { inputTokens: 10, outputTokens: 1, ...usage } }
}

/** Opens a thread with a run in it. */
export async function withRun(store: Store, ref: ThreadRef, runId = 'run-1'): Promise<void> {
  await store.threads.open(ref)
  await store.records.apply(ref, [start(runId)])
}

/** Which of the commands were refused, in order. */
export async function refusals(store: Store, ref: ThreadRef, commands: readonly RecordCommand[]): Promise<boolean[]> {
  const results = await store.records.apply(ref, commands)
  return results.map(({ refused }) => refused === true)
}

/** A run by its id. */
export async function runOf(store: Store, ref: ThreadRef, runId = 'run-1'): Promise<RunRecord | undefined> {
  const runs = await store.records.runs(ref)
  return runs.find((run) => run.runId === runId)
}

/** The status of each tool call of a run. */
export async function statuses(store: Store, ref: ThreadRef, runId = 'run-1'): Promise<{ [callId: string]: string }> {
  const calls = await store.records.toolCalls(ref, runId)
  return Object.fromEntries(calls.map(({ callId, status }) => [callId, status]))
}

/** What a follower saw, batches joined. */
export async function collect<T>(batches: AsyncIterable<readonly T[]>): Promise<T[]> {
  const seen: T[] = []
  for await (const batch of batches) seen.push(...batch)
  return seen
}

/** The events a log holds now. */
export async function logged(store: Store, ref: ThreadRef, runId = 'run-1'): Promise<Json[]> {
  const { signal } = new AbortController()
  const entries = await collect(store.runLog.follow(ref, runId, { live: false, signal }))
  return entries.map(({ event }) => event)
}

/** One to n. */
export function upTo(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i + 1)
}

/** Text that databases trip over: NUL, a lone surrogate, an emoji, quotes, a trailing space. */
export const AWKWARD = 'a\u0000b \ud800 👩‍🚀 \'"\\ % é e\u0301 \u2028 '
