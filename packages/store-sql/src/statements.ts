/** Rows of one statement: the widest table has twelve columns, which stays below the parameter limits of both databases. */
const ROWS_PER_STATEMENT = 500

/** Splits rows or keys into chunks for one statement each. */
export function* statements<T>(rows: readonly T[]): Generator<readonly T[]> {
  if (rows.length <= ROWS_PER_STATEMENT) {
    if (rows.length > 0) yield rows
    return
  }
  for (let i = 0; i < rows.length; i += ROWS_PER_STATEMENT) yield rows.slice(i, i + ROWS_PER_STATEMENT)
}
