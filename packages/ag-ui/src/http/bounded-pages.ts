/** The most rows of one query; the first query has fewer, because rows may be large. */
const MOST_ROWS = 500
const FIRST_ROWS = 8

/** A page of rows from a store, and where it begins. */
type ReadPage<Row> = (query: { readonly after?: number; readonly limit: number }) => Promise<readonly Row[]>

/**
 * Reads a list in pages of about `chars` characters.
 * Contract: reads a page when it is asked for; the number of rows follows from the size of those before, so that a page of large rows is short.
 */
export async function* boundedPages<Row extends { readonly seq: number }>(
  read: ReadPage<Row>,
  sizeOf: (row: Row) => number,
  chars: number,
  from?: number,
): AsyncGenerator<readonly Row[], void> {
  let after = from
  let limit = FIRST_ROWS
  for (;;) {
    const page = await read(after === undefined ? { limit } : { after, limit })
    const last = page.at(-1)
    if (!last) return
    after = last.seq
    const size = page.reduce((sum, row) => sum + sizeOf(row), 1)
    yield page
    if (page.length < limit) return
    const fitting = Math.floor((page.length * chars) / size)
    limit = Math.max(1, Math.min(fitting, limit * 4, MOST_ROWS))
  }
}

/** The rows of one page of a list, and where the next page begins. */
export interface BoundedRows<T> {
  readonly rows: readonly T[]
  readonly next?: number
}

/** Collects rows as text until there are `limit` of them or they have `chars` characters. Contract: at least one row, if there is one. */
export async function collectRows<Row extends { readonly seq: number }>(
  pages: AsyncIterable<readonly Row[]> | Iterable<readonly Row[]>,
  textOf: (row: Row) => string,
  { limit, chars }: { readonly limit: number; readonly chars: number },
): Promise<BoundedRows<string>> {
  const rows: string[] = []
  let size = 0
  for await (const page of pages) {
    for (const row of page) {
      const text = textOf(row)
      rows.push(text)
      size += text.length
      if (rows.length >= limit || size >= chars) return { rows, next: row.seq }
    }
  }
  return { rows }
}
