import { describe, it } from 'vitest'

/** One sentence of a contract. Contract: `run` rejects if it does not hold, needs no other clause, and leaves nothing behind. */
export interface Clause {
  readonly name: string
  readonly run: () => Promise<void>
}

/** Makes tests of clauses. */
export function register(name: string, clauses: readonly Clause[]): void {
  describe(name, () => {
    for (const clause of clauses) it(clause.name, clause.run)
  })
}
