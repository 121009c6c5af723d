import type { Message, Page, Thread } from '@troupe/kernel'
import { type BoundedRows, boundedPages, collectRows } from '../bounded-pages.ts'
import { messageOptions, viewOf } from '../translate/client-view.ts'
import { toAgUiMessages } from '../translate/to-ag-ui-messages.ts'
import { messageLength } from './history-pages.ts'
import type { HandlerParts } from './serve-run.ts'

/** A page of the messages of a thread as JSON. Contract: messages that wait for the answers to its open questions are on the last page, after all others. */
export async function messageRows(
  { agent, store, pageChars }: HandlerParts,
  { ref, checkpoint }: Thread,
  { after, limit }: Page & { readonly limit: number },
): Promise<BoundedRows<string>> {
  const options = messageOptions(viewOf(agent, ref))
  const stored = new Set<string>()
  const textOf = ({ message }: { readonly message: Message }) => {
    stored.add(message.id)
    return toAgUiMessages([message], options)
      .map((shown) => JSON.stringify(shown))
      .join()
  }
  const pages = boundedPages((part: Page) => store.threads.messages(ref, part), messageLength, pageChars, after)
  const found = await collectRows(pages, textOf, { limit, chars: pageChars })
  if (found.next !== undefined) return found
  // They may have been stored since the thread was read.
  const waiting = (checkpoint?.next ?? []).filter(({ id }) => !stored.has(id))
  return { rows: [...found.rows, ...waiting.map((message) => textOf({ message }))] }
}
