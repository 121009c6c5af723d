/** The most rows of one query; the first query has fewer, because rows may be large. */
const MOST_ROWS = 100
const FIRST_ROWS = 4

/** A page of rows from a store, and where it begins. */
type ReadPage<Row> = (query: { readonly after?: number; readonly limit: number }) => Promise<readonly Row[]>

/**
 * Reads a list in pages of about `chars` characters.
 * Contract: reads a page when it is asked for; the number of rows follows from the size of those before, and a page ends at the row that fills it.
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
    const found = await read(after === undefined ? { limit } : { after, limit })
    const { page, size } = firstOf(found, sizeOf, chars)
    const isLast = found.length < limit && page.length === found.length
    const fitting = Math.floor((page.length * chars) / size)
    limit = Math.max(1, Math.min(fitting, limit * 4, MOST_ROWS))
    const last = page.at(-1)
    if (!last) return
    after = last.seq
    yield page
    if (isLast) return
  }
}

/** The rows up to `chars` characters, at least one. The others are read again, when there is room for them. */
function firstOf<Row>(rows: readonly Row[], sizeOf: (row: Row) => number, chars: number) {
  let [count, size] = [0, 1]
  for (const row of rows) {
    if (count > 0 && size >= chars) break
    size += sizeOf(row)
    count++
  }
  return { page: count === rows.length ? rows : rows.slice(0, count), size }
}

/** The rows of one page of a list, and where the next page begins. */
export interface BoundedRows<T> {
  readonly rows: readonly T[]
  readonly next?: number | string
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
