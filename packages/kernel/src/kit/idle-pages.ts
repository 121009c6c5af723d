import type { ThreadStore, ThreadSummary } from '../store/store.ts'

/**
 * Reads the idle threads of all owners page by page, oldest first.
 * Contract: reads a page when it is asked for, so that threads may be deleted in between; a page that is not full is the last one, and so is one without
 * a new thread, from a store that does not know the cursor.
 * @example
 * for await (const page of idlePages(store.threads, { before: Date.now() - 86_400_000, limit: 100 })) {
 *   for (const { ref } of page) console.log(ref.threadId)
 * }
 */
export async function* idlePages(
  threads: Pick<ThreadStore, 'idle'>,
  query: { readonly before: number; readonly limit: number },
): AsyncGenerator<readonly ThreadSummary[], undefined> {
  let seen = new Set<string>()
  let after: ThreadSummary | undefined
  for (;;) {
    const page = await threads.idle(after ? { ...query, after } : query)
    const next = page.filter((thread) => !seen.has(keyOf(thread)))
    if (next.length > 0) yield next
    after = page.at(-1)
    if (!after || next.length === 0 || page.length < query.limit) return
    seen = new Set(page.map(keyOf))
  }
}

function keyOf({ ref: { app, user, threadId } }: ThreadSummary): string {
  return JSON.stringify([app, user, threadId])
}
