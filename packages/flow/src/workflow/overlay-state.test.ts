import type { Json, State } from '@troupe/kernel'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OverlayState } from './overlay-state.ts'

const stateOf = (entries: Iterable<readonly [string, Json]>): State => new Map(entries)
const contentOf = (state: State) => Object.fromEntries([...state.keys()].map((key) => [key, state.get(key)]))

const key = fc.constantFrom('a', 'b', 'c', 'temp:d')
const edit = fc.oneof(
  fc.tuple(fc.constant('set' as const), key, fc.oneof(fc.integer(), fc.constant(null), fc.constant([]))),
  fc.tuple(fc.constant('delete' as const), key, fc.constant(null)),
)

test('reads like a copy, leaves what is below alone, and writes it all when it is merged', () => {
  fc.assert(
    fc.property(fc.dictionary(key, fc.integer()), fc.array(edit), (before, edits) => {
      const base = stateOf(Object.entries(before))
      const overlay = new OverlayState(base)
      const copy = new Map<string, Json>(Object.entries(before))
      for (const [what, name, value] of edits) {
        if (what === 'set') {
          overlay.set(name, value)
          copy.set(name, value)
        } else {
          overlay.delete(name)
          copy.delete(name)
        }
        expect(contentOf(overlay)).toEqual(Object.fromEntries(copy))
        expect(contentOf(base)).toEqual(before)
      }
      overlay.merge()
      expect(contentOf(base)).toEqual(Object.fromEntries(copy))
    }),
  )
})

test('sees what is written below meanwhile, where it has nothing of its own', () => {
  const base = stateOf([['a', 1]])
  const overlay = new OverlayState(base)
  overlay.set('b', 2)
  base.set('a', 3)
  base.set('b', 4)
  expect(contentOf(overlay)).toEqual({ a: 3, b: 2 })
})
