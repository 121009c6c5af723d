import type { RunAgentInput } from '@ag-ui/core'
import type { Message, Thread, ThreadRef, ThreadStore } from '@troupe/kernel'
import { pages } from '@troupe/kernel/kit'

type Row = Awaited<ReturnType<ThreadStore['messages']>>[number]

/** Where a thread and the messages of its client part. */
export interface Place {
  /** The last message of the thread that the client shows before its new ones. */
  readonly last: Message
  /** What the thread has after it, in order. */
  readonly after: readonly Message[]
  /** Whether the client shows nothing after it but results and its new messages. */
  readonly ends: boolean
  /** The runs from that message on. */
  readonly runIds: ReadonlySet<string>
}

const FIRST = 10
const PAGE = 200

/** The newest messages of a thread, the newest first. */
export function newestMessages(threads: ThreadStore, ref: ThreadRef): Promise<readonly Row[]> {
  return threads.messages(ref, { newestFirst: true, limit: FIRST })
}

/**
 * Finds the last message of a thread that its client shows before the first of its new messages.
 * Contract: `newest` is what `newestMessages` gave; reads more only if the client is further behind; undefined if the client shows none of the thread.
 */
export async function placeInThread(
  threads: ThreadStore,
  { ref }: Thread,
  messages: RunAgentInput['messages'],
  isNew: (message: RunAgentInput['messages'][number]) => boolean,
  newest: readonly Row[],
): Promise<Place | undefined> {
  const first = messages.findIndex(isNew)
  const shown = (first < 0 ? messages : messages.slice(0, first)).filter(({ role }) => COUNTED.has(role))
  if (shown.length === 0) return undefined
  const ids = new Set(shown.map(({ id }) => id))
  const after: Message[] = []
  const runIds = new Set<string>()
  for await (const page of newestFirst(threads, ref, newest)) {
    for (const { message, runId } of page) {
      runIds.add(runId)
      if (ids.has(message.id)) {
        const at = shown.findLastIndex(({ id }) => id === message.id)
        // Clients keep results in the order in which they came.
        const ends = shown.slice(at + 1).every(({ role }) => role === 'tool')
        return { last: message, after: after.reverse(), ends, runIds }
      }
      after.push(message)
    }
  }
  return undefined
}

/** The roles of messages that a thread has too. */
const COUNTED: ReadonlySet<string> = new Set(['user', 'assistant', 'tool'])

async function* newestFirst(
  threads: ThreadStore,
  ref: ThreadRef,
  newest: readonly Row[],
): AsyncGenerator<readonly Row[], void> {
  yield newest
  const oldest = newest.at(-1)?.seq
  if (newest.length < FIRST || oldest === undefined) return
  yield* pages(PAGE, (query) => threads.messages(ref, { newestFirst: true, after: oldest, ...query }))
}
