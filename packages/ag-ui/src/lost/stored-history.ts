import type { Message, ThreadRef, ThreadStore } from '@troupe/kernel'
import { pages } from '@troupe/kernel/kit'

const PAGE = 500

/** The whole history of a thread, in order. */
export async function storedHistory(
  threads: Pick<ThreadStore, 'messages'>,
  ref: ThreadRef,
): Promise<readonly { readonly runId: string; readonly message: Message }[]> {
  const rows: { readonly runId: string; readonly message: Message }[] = []
  for await (const page of pages(PAGE, (query) => threads.messages(ref, query))) rows.push(...page)
  return rows
}
