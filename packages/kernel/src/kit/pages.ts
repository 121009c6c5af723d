/**
 * Reads a list page by page.
 * Contract: reads a page when it is asked for; a page that is not full is the last one.
 * @example
 * for await (const page of pages(200, (query) => store.threads.messages(ref, query))) {
 *   messages.push(...page.map(({ message }) => message))
 * }
 */
export async function* pages<Row extends { readonly seq: number }>(
  limit: number,
  read: (query: { readonly after?: number; readonly limit: number }) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[], undefined> {
  let after: number | undefined
  for (;;) {
    const page = await read(after === undefined ? { limit } : { after, limit })
    const last = page.at(-1)
    if (!last) return
    yield page
    if (page.length < limit) return
    after = last.seq
  }
}
