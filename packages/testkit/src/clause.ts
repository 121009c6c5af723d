import { systemClock, withinTime } from '@troupe/kernel/kit'
import { describe, it } from 'vitest'
import { Fault, inWords } from './fault.ts'

/** One sentence of a contract. Contract: `run` rejects if it does not hold, needs no other clause, and leaves nothing behind. */
export interface Clause {
  readonly name: string
  /** Advice for the plugin's author if it does not hold; a fault may have better advice. */
  readonly todo: string
  /** The calls so far, for the error. */
  readonly seen?: () => string
  /** Contract: a text says why the clause does not apply to this plugin. */
  readonly run: () => Promise<string | void>
}

/** Runs a clause. Contract: rejects with an error that says in words what is wrong and what to do, also if the plugin hangs. */
export async function check({ name, todo, seen, run }: Clause, limitMs: number): Promise<string | void> {
  try {
    return await withinTime(systemClock, limitMs, run(), () => {
      throw new Fault(`The plugin did not settle within ${limitMs} ms, so this does not hold: ${name}`)
    })
  } catch (error) {
    throw inWords(error, name, todo, seen?.())
  }
}

/** Makes tests of clauses. */
export function register(name: string, clauses: readonly Clause[]): void {
  describe(name, () => {
    for (const clause of clauses) {
      it(clause.name, async ({ task, skip }) => {
        // The words come before vitest gives up on the test.
        const passedOver = await check(clause, Math.floor((task.timeout || MINUTE) * 0.9))
        if (passedOver) skip(passedOver)
      })
    }
  })
}

const MINUTE = 60_000
