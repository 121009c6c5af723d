import type { Json } from '@troupe/kernel'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientOf } from '../pipeline.fixture.ts'
import type { AgUiEvent } from '../protocol.ts'
import { applyPatch } from '../write/apply-patch.ts'
import { diff, equal } from './json-patch.ts'

const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Json[]>(null, true, 0, 1, 'x', ''),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b/c', 'd~e', '~1', '', 'constructor'), tie('value'), { maxKeys: 4 }),
  ),
})).value

describe('JSON Patch 格式', () => {
  test('additions, changes and removals by key', () => {
    expect(diff({ a: 1, b: 2, c: 3 }, { a: 1, b: 4, d: 5 }, '/s')).toEqual([
      { op: 'remove', path: '/s/c' },
      { op: 'replace', path: '/s/b', value: 4 },
      { op: 'add', path: '/s/d', value: 5 },
    ])
  })

  test('keys with slashes and tildes are escaped', () => {
    expect(diff({ 'a/b': 1, 'm~n': 1 }, { 'a/b': 2, 'm~n': 2 }, '')).toEqual([
      { op: 'replace', path: '/a~1b', value: 2 },
      { op: 'replace', path: '/m~0n', value: 2 },
    ])
  })

  test('items are added and removed at their index', () => {
    const items = ['a', 'b', 'c'].map((id) => ({ id, text: 'a long enough text to be worth a patch' }))
    expect(diff(items, items.slice(1), '/l')).toEqual([{ op: 'remove', path: '/l/0' }])
    expect(diff(items.slice(1), items, '/l')).toEqual([{ op: 'add', path: '/l/0', value: items[0] }])
    expect(diff(items, items.with(1, { id: 'b', text: 'new' }), '/l')).toEqual([
      { op: 'replace', path: '/l/1/text', value: 'new' },
    ])
  })

  test('a value with many changes is replaced', () => {
    expect(diff([1, 2, 3, 4, 5], [5, 4, 1, 2, 9], '/l')).toEqual([
      { op: 'replace', path: '/l', value: [5, 4, 1, 2, 9] },
    ])
  })

  test('no pointer goes through an object internal, which clients refuse', () => {
    expect(diff({ a: { constructor: 1 } }, { a: { constructor: 2 } }, '')).toEqual([
      { op: 'replace', path: '/a', value: { constructor: 2 } },
    ])
  })

  test('a patch turns one value into the other', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const patch = diff(before, after, '/x')
        expect(equal(applyPatch({ x: before }, patch), { x: after })).toBe(true)
        expect(patch.length === 0).toBe(equal(before, after))
      }),
      { numRuns: 2_000, seed: 7 },
    )
  })

  test('the official client gets the same value', async () => {
    await fc.assert(
      fc.asyncProperty(json, json, async (before, after) => {
        const events = [
          { type: 'STATE_SNAPSHOT', snapshot: { x: before } },
          { type: 'STATE_DELTA', delta: diff(before, after, '/x') },
        ] as AgUiEvent[]
        expect((await clientOf(structuredClone(events))).state).toEqual({ x: after })
      }),
      { numRuns: 300, seed: 7 },
    )
  })
})

describe('applyPatch', () => {
  test.each([
    [{ op: 'replace', path: '/b', value: 1 }],
    [{ op: 'remove', path: '/b' }],
    [{ op: 'add', path: '/b/c', value: 1 }],
    [{ op: 'add', path: '/a/5', value: 1 }],
    [{ op: 'add', path: '/a/x', value: 1 }],
    [{ op: 'remove', path: '/a/-' }],
    [{ op: 'add', path: 'a', value: 1 }],
    [{ op: 'add', path: '/__proto__/x', value: 1 }],
    [{ op: 'add', path: '/a' }],
    [{ op: 'move', from: '/a', path: '/b' }],
    [{ op: 'remove', path: '' }],
  ])('refuses %j', (operation) => {
    expect(() => applyPatch({ a: [1] }, [operation as never])).toThrow(/^patch: /)
  })
})
