import { expect } from 'vitest'
import { advised, type StoreClauses } from './store-clauses.ts'
import { AWKWARD, refusals, runOf, textAt, withRun } from './store-samples.ts'

/** The text of a run, as far as it has come. */
export const runTextClauses: StoreClauses = {
  ...advised(
    'Keep text up to `offset` and put the new text there; an offset beyond the end is refused. Count UTF-16 units, as JavaScript does.',
    {
      'text replaces what was there from its offset on': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [textAt(0, 'Hello '), textAt(6, 'world')])
        expect((await runOf(store, ref))?.text).toBe('Hello world')
        await store.records.apply(ref, [textAt(6, 'you')])
        expect((await runOf(store, ref))?.text).toBe('Hello you')
        await store.records.apply(ref, [textAt(6, 'you')])
        expect((await runOf(store, ref))?.text).toBe('Hello you')
        await store.records.apply(ref, [textAt(0, '')])
        expect((await runOf(store, ref))?.text).toBe('')
      },
      'offsets count UTF-16 units, and text comes back as it was': async ({ store, ref }) => {
        await withRun(store, ref)
        await store.records.apply(ref, [textAt(0, '👍'), textAt(2, AWKWARD)])
        expect((await runOf(store, ref))?.text).toBe(`👍${AWKWARD}`)
      },
      'text beyond the end is refused': async ({ store, ref }) => {
        await withRun(store, ref)
        expect(await refusals(store, ref, [textAt(1, 'x'), textAt(0, 'ab'), textAt(3, 'x'), textAt(2, 'c')])).toEqual([
          true,
          false,
          true,
          false,
        ])
        expect((await runOf(store, ref))?.text).toBe('abc')
      },
    },
  ),
}
