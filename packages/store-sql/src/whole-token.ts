/** Checks a token without the database: only a whole number can match a lease. */
export function wholeToken(token: number): number {
  return Number.isSafeInteger(token) ? token : -1
}
