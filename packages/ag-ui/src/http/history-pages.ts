import type { Message, Page, ThreadRef } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'
import { boundedPages } from '../bounded-pages.ts'
import type { AgUiMessage } from '../protocol.ts'
import { type MessageOptions, toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import type { HandlerParts } from './serve-run.ts'

/** The most characters of a history that one reader has in memory; a single message may be larger. */
const HELD_CHARS = 131_072

/**
 * The history of a thread as clients keep it, in pages.
 * Contract: with a `runId` it ends before what that run has said, which its log has, and before later runs.
 */
export async function* historyPages(
  { store, pageChars }: Pick<HandlerParts, 'store' | 'pageChars'>,
  ref: ThreadRef,
  options: MessageOptions,
  runId?: string,
): AsyncGenerator<readonly AgUiMessage[], void> {
  const chars = Math.min(HELD_CHARS, pageChars)
  const pages = boundedPages((query: Page) => store.threads.messages(ref, query), messageLength, chars)
  let reached = false
  for await (const page of pages) {
    const shown: Message[] = []
    for (const row of page) {
      const own = row.runId === runId
      reached ||= own
      // What another run has stored since then is not before this one.
      if (reached && !own) break
      if (!own || row.message.role === 'user') shown.push(row.message)
    }
    yield toAgUiMessages(shown, options)
    if (reached && page.at(-1)?.runId !== runId) return
  }
}

/** The length of a stored message, counted no further than it matters. */
export function messageLength({ message }: { readonly message: Message }): number {
  return jsonLength(message, 100_000_000)
}
