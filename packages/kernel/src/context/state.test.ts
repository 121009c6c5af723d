import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Json } from '../data/json.ts'
import { TrackedState } from './state.ts'

it('remembers what changed until it is asked', () => {
  const state = new TrackedState(new Map<string, Json>([['old', 1]]))
  expect(state.changed).toBe(false)
  state.set('mood', 'good')
  state.set('mood', 'better')
  state.delete('old')
  expect(state.changed).toBe(true)
  expect(state.take()).toEqual({ set: { mood: 'better' }, removed: ['old'] })
  expect(state.changed).toBe(false)
})

it('does not count the deletion of what is not there', () => {
  const state = new TrackedState(new Map())
  state.delete('nothing')
  expect(state.changed).toBe(false)
})

it.each(['__proto__', 'constructor', 'prototype', '', 7])('refuses the key %o', (key) => {
  const state = new TrackedState(new Map())
  expect(() => state.set(key as string, 1)).toThrow(expect.objectContaining({ code: 'VALIDATION_FAILED' }))
  expect(state.changed).toBe(false)
})

it('refuses a value that is not JSON and says where', () => {
  const state = new TrackedState(new Map())
  expect(() => state.set('user', { born: new Date() } as never)).toThrow(/state.set: user.born is not plain JSON/)
  expect(state.get('user')).toBeUndefined()
})

it('the changes it gives, applied in order, make the same state', () => {
  const key = fc.constantFrom('a', 'b', 'temp:c')
  const value = (fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>).filter(
    (given) => !JSON.stringify(given).includes('__proto__'),
  )
  const step = fc.oneof(fc.record({ key, value }), fc.record({ remove: key }), fc.constant('take' as const))
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const state = new TrackedState(new Map())
      const copy: Record<string, Json> = {}
      const take = () => {
        const { set, removed } = state.take()
        Object.assign(copy, set)
        for (const name of removed) delete copy[name]
      }
      for (const one of steps) {
        if (one === 'take') take()
        else if ('remove' in one) state.delete(one.remove)
        else state.set(one.key, one.value)
      }
      take()
      expect(copy).toEqual(Object.fromEntries([...state.keys()].map((name) => [name, state.get(name)])))
    }),
  )
})
