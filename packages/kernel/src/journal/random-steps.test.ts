import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Journal, Json } from '../index.ts'
import { nextMacrotask } from '../kit.ts'
import { attempt, MemoryJournal } from './journal.fixture.ts'

/** A program of steps; a step that fails is caught by the program, which goes on; a step may have others inside it. */
type Program =
  | { readonly kind: 'step'; readonly fails: boolean; readonly repeats: boolean }
  | { readonly kind: 'around'; readonly inside: Program }
  | { readonly kind: 'sequence' | 'parallel'; readonly parts: readonly Program[] }

const { program } = fc.letrec<{ program: Program }>((tie) => ({
  program: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.record({
      kind: fc.constant('step' as const),
      fails: fc.boolean(),
      repeats: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('around' as const), inside: tie('program') }),
    fc.record({
      kind: fc.constantFrom('sequence' as const, 'parallel' as const),
      parts: fc.array(tie('program'), { minLength: 1, maxLength: 4 }),
    }),
  ),
}))

/** How many macrotasks each wait takes: before a step is asked for, and until its work is done. */
const waits = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 12 })

/** Carries out a program; the waits are taken in the order in which they come up, so that each attempt has its own. */
class Execution {
  readonly values = new Map<string, Json>()
  readonly done: string[] = []
  readonly #journal: Journal
  readonly #by: number
  readonly #waits: readonly number[]
  #waited = 0

  constructor(journal: Journal, by: number, waits: readonly number[]) {
    this.#journal = journal
    this.#by = by
    this.#waits = waits
  }

  async run(program: Program, path = 'p'): Promise<void> {
    if (program.kind === 'step') {
      await this.#step(path, path, program.fails)
      if (program.repeats) await this.#step(path, `${path}~2`, program.fails)
    } else if (program.kind === 'around') {
      await this.#step(path, path, false, () => this.run(program.inside, `${path}/0`))
    } else if (program.kind === 'parallel') {
      await Promise.all(program.parts.map((part, i) => this.run(part, `${path}/${i}`)))
    } else {
      for (const [i, part] of program.parts.entries()) await this.run(part, `${path}/${i}`)
    }
  }

  async #step(step: string, name: string, fails: boolean, inside?: () => Promise<void>): Promise<void> {
    // The step of the work that begins at once asks for its own steps in the same tick.
    if (!inside) await this.#wait()
    const work = async () => {
      this.done.push(name)
      await inside?.()
      await this.#wait()
      if (fails) throw new Error('no')
      return { name, by: this.#by }
    }
    const value = await this.#journal.perform<Json>(`r/${step}`, work).catch((error: Error) => error.message)
    this.values.set(name, value)
  }

  async #wait(): Promise<void> {
    const turns = this.#waits[this.#waited++ % this.#waits.length] ?? 0
    for (let turn = 0; turn < turns; turn++) await nextMacrotask()
  }
}

/** The entries of a journal cut after the first ones; a batch is cut too, as if its rest had never been written. */
function cut(journal: MemoryJournal, entries: number): string[] {
  const batches: string[] = []
  let left = entries
  for (const batch of journal.batches) {
    const kept = JSON.parse(batch).slice(0, left)
    left -= kept.length
    if (kept.length > 0) batches.push(JSON.stringify(kept))
  }
  return batches
}

function isInside(name: string, steps: ReadonlySet<string>): boolean {
  return [...steps].some((step) => name.startsWith(`${step}/`))
}

it('a run cut after any entry goes on: recorded steps keep their values and are not done again, all others are done', async () => {
  await fc.assert(
    fc.asyncProperty(program, waits, waits, async (program, firstWaits, laterWaits) => {
      const whole = new MemoryJournal()
      const first = new Execution(attempt(whole.once), 1, firstWaits)
      await first.run(program)
      for (let entries = 0; entries <= whole.entries.length; entries++) {
        const journal = new MemoryJournal(cut(whole, entries))
        const recorded = new Set(journal.steps)
        const again = new Execution(attempt(journal.once, { attempt: 2 }), 2, laterWaits)
        await again.run(program)
        // What is inside a recorded step is not asked for again.
        const asked = [...first.values].filter(([name]) => !isInside(name, recorded))
        const right = asked.map(([name, value]) => {
          const redone = typeof value === 'object' && !recorded.has(name)
          return [name, redone ? { name, by: 2 } : value] as const
        })
        expect(new Map(again.values)).toEqual(new Map(right))
        const undone = asked.map(([name]) => name).filter((name) => !recorded.has(name))
        expect(again.done.toSorted()).toEqual(undone.toSorted())
        expect(journal.steps.toSorted()).toEqual(
          whole.steps.filter((step) => recorded.has(step) || !isInside(step, recorded)).toSorted(),
        )
        await nextMacrotask()
        expect(journal.busy).toBe(false)
      }
    }),
    { numRuns: 150 },
  )
})

it('a run that breaks off again and again ends with the values of whoever recorded them', async () => {
  await fc.assert(
    fc.asyncProperty(program, fc.array(waits, { minLength: 2, maxLength: 5 }), async (program, attempts) => {
      let batches: readonly string[] = []
      const owners = new Map<string, number>()
      for (const [i, wait] of attempts.entries()) {
        const journal = new MemoryJournal(batches)
        const execution = new Execution(attempt(journal.once, { attempt: i }), i, wait)
        await execution.run(program)
        for (const [name, value] of execution.values) {
          const owner = owners.get(name)
          if (owner !== undefined) expect(value).toEqual({ name, by: owner })
        }
        // It broke off after one entry more than the one before.
        batches = cut(journal, owners.size + 1)
        for (const { step, by } of new MemoryJournal(batches).entries) owners.set(step, by)
      }
    }),
    { numRuns: 60 },
  )
})
