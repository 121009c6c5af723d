import { type Outcome, type Store, type Thread, type ThreadRef, type ToolMessage, textOf } from '@troupe/kernel'
import { pages } from '@troupe/kernel/kit'

/** The end of a run as its thread has it. */
export interface EndInThread {
  readonly outcome: Extract<Outcome, 'complete' | 'interrupted'>
  /** The text of its last message. */
  readonly text: string
  /** By call id. */
  readonly results: ReadonlyMap<string, ToolMessage>
}

type Row = Awaited<ReturnType<Store['threads']['messages']>>[number]

/** Finds the end of a run in its thread. Contract: undefined if it is not certain how the run ended: only an answer, a question or a call that waits tells that. */
export async function endInThread(
  threads: Store['threads'],
  thread: Thread | undefined,
  runId: string,
): Promise<EndInThread | undefined> {
  if (!thread || thread.unfinished === runId) return undefined
  const { own, isLast } = await messagesOf(threads, thread.ref, runId)
  const outcome = outcomeOf(own, isLast ? thread : undefined, runId)
  if (!outcome) return undefined
  const texts = own.map(({ message }) => (message.role === 'assistant' ? textOf(message.content) : ''))
  const results = own.flatMap(({ message }) => (message.role === 'tool' ? [[message.callId, message] as const] : []))
  return { outcome, text: texts.findLast((text) => text !== '') ?? '', results: new Map(results) }
}

/** `waiting` is the thread, if nothing came after the run. */
function outcomeOf(
  own: readonly Row[],
  waiting: Thread | undefined,
  runId: string,
): EndInThread['outcome'] | undefined {
  const last = own.at(-1)?.message
  if (!last) return undefined
  const { checkpoint, openCalls = [] } = waiting ?? {}
  if (checkpoint?.runId === runId && checkpoint.interrupts.length > 0) return 'interrupted'
  const answered = last.role === 'assistant' && !last.toolCalls?.length && !last.partial
  return answered || openCalls.length > 0 ? 'complete' : undefined
}

/** The messages of a run, in order, and whether the last message of the thread is one of them. */
async function messagesOf(
  threads: Store['threads'],
  ref: ThreadRef,
  runId: string,
): Promise<{ readonly own: readonly Row[]; readonly isLast: boolean }> {
  const own: Row[] = []
  let isLast: boolean | undefined
  for await (const page of pages(100, (query) => threads.messages(ref, { newestFirst: true, ...query }))) {
    for (const row of page) {
      isLast ??= row.runId === runId
      if (row.runId === runId) own.unshift(row)
      else if (own.length > 0) return { own, isLast }
    }
  }
  return { own, isLast: isLast === true }
}
