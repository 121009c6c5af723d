import type { Message, Page, ThreadRef, ThreadStore } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'
import { boundedPages } from '../bounded-pages.ts'

/** A message of a thread, with its run. */
export interface RunRow {
  readonly runId: string
  readonly message: Message
}

const PAGE_CHARS = 131_072

/** The messages of a thread from the newest on, in pages of bounded size. */
export function newestRows(
  threads: Pick<ThreadStore, 'messages'>,
  ref: ThreadRef,
): AsyncGenerator<readonly RunRow[], void> {
  return boundedPages((page: Page) => threads.messages(ref, { newestFirst: true, ...page }), lengthOf, PAGE_CHARS)
}

/** The messages of a run, in order, then the newest of the thread if that is another one. Contract: undefined if they have more than `most` characters; reads nothing before them. */
export async function rowsOfRun(
  threads: Pick<ThreadStore, 'messages'>,
  ref: ThreadRef,
  runId: string,
  most: number,
): Promise<readonly RunRow[] | undefined> {
  const rows: RunRow[] = []
  let size = 0
  let reached = false
  for await (const page of newestRows(threads, ref)) {
    for (const row of page) {
      const own = row.runId === runId
      if (reached && !own) return rows.reverse()
      reached ||= own
      if (!own && rows.length > 0) continue
      size += lengthOf(row)
      if (size > most) return undefined
      rows.push(row)
    }
  }
  return rows.reverse()
}

/** The messages of all other runs, in order. Contract: undefined if they have more than `most` characters. */
export async function rowsOfOthers(
  threads: Pick<ThreadStore, 'messages'>,
  ref: ThreadRef,
  runId: string,
  most: number,
): Promise<readonly Message[] | undefined> {
  const messages: Message[] = []
  let size = 0
  for await (const page of boundedPages((page: Page) => threads.messages(ref, page), lengthOf, PAGE_CHARS)) {
    for (const row of page) {
      if (row.runId === runId) continue
      size += lengthOf(row)
      if (size > most) return undefined
      messages.push(row.message)
    }
  }
  return messages
}

function lengthOf({ message }: { readonly message: Message }): number {
  return jsonLength(message, 100_000_000)
}
