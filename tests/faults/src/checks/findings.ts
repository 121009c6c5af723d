/** Counts the checks of a case and keeps the violations. */
export class Findings {
  checked = 0
  readonly violations: string[] = []

  /** Adds a violation unless the check holds; `seen` is what was found instead. */
  check(what: string, holds: boolean, seen?: unknown): void {
    this.checked++
    if (!holds) this.violations.push(seen === undefined ? what : `${what}; seen: ${JSON.stringify(seen)}`)
  }

  /** Checks that each id occurs once. */
  unique(what: string, ids: readonly string[]): void {
    const twice = ids.filter((id, i) => ids.indexOf(id) !== i)
    this.check(what, twice.length === 0, twice)
  }

  /** Checks that the numbers are 1, 2, 3 and so on. */
  gapless(what: string, numbers: readonly number[]): void {
    this.check(
      what,
      numbers.every((number, i) => number === i + 1),
      numbers,
    )
  }
}
