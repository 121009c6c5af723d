/** What was looked at, and what was wrong. */
export class Findings {
  checked = 0
  readonly violations: string[] = []

  /** Notes a violation unless it holds; `seen` says what was there instead. */
  check(what: string, holds: boolean, seen?: unknown): void {
    this.checked++
    if (!holds) this.violations.push(seen === undefined ? what : `${what}; seen: ${JSON.stringify(seen)}`)
  }

  /** Each once. */
  unique(what: string, ids: readonly string[]): void {
    const twice = ids.filter((id, i) => ids.indexOf(id) !== i)
    this.check(what, twice.length === 0, twice)
  }

  /** 1, 2, 3 and so on. */
  gapless(what: string, numbers: readonly number[]): void {
    this.check(
      what,
      numbers.every((number, i) => number === i + 1),
      numbers,
    )
  }
}
