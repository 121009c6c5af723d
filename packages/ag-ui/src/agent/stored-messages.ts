import type { RunAgentInput } from '@ag-ui/core'
import type { ThreadRef, ThreadStore } from '@troupe/kernel'
import { pages } from '@troupe/kernel/kit'

const PAGE = 200

/**
 * The user messages of a request that the thread already has from a runner that was called directly, not through AG-UI.
 * Contract: searches only if the client repeats a history; a single new message at the end needs no search.
 */
export async function storedMessages(
  threads: ThreadStore,
  ref: ThreadRef,
  { messages }: Pick<RunAgentInput, 'messages'>,
  done: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const wanted = new Set(messages.filter(({ id, role }) => role === 'user' && !done.has(id)).map(({ id }) => id))
  const found = new Set<string>()
  const last = messages.at(-1)
  if (wanted.size === 0 || (wanted.size === 1 && last?.role === 'user' && wanted.has(last.id))) return found
  for await (const page of pages(PAGE, (query) => threads.messages(ref, query))) {
    for (const { message } of page) if (wanted.has(message.id)) found.add(message.id)
    if (found.size === wanted.size) break
  }
  return found
}
