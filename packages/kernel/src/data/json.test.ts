import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isPromise, notJson } from './json.ts'

it('finds nothing wrong with JSON', () => {
  const safe = fc.jsonValue({ maxDepth: 5 }).filter((value) => !JSON.stringify(value).includes('__proto__'))
  fc.assert(fc.property(safe, (value) => notJson(value) === undefined))
})

it.each([
  [undefined, ''],
  [{ a: [1, undefined] }, '.a[1]'],
  [{ a: { b: Number.NaN } }, '.a.b'],
  [[1, 2, () => 3], '[2]'],
  [{ at: new Date() }, '.at'],
  [new Map(), ''],
  [{ big: 1n }, '.big'],
  [JSON.parse('{ "a": { "__proto__": 1 } }'), '.a.__proto__'],
  [Number.POSITIVE_INFINITY, ''],
])('says where %o stops being JSON', (value, path) => expect(notJson(value)).toBe(path))

it('takes an object without a prototype for JSON', () => {
  expect(notJson(Object.assign(Object.create(null), { a: 1 }))).toBeUndefined()
})

it('does not follow a circle, nor anything deeper than 64 levels', () => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  expect(notJson(circle)).toContain('.self.self')
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
  expect(notJson(nested(64))).toBeUndefined()
  expect(notJson(nested(65))).toBeDefined()
})

it('takes for a promise what can be awaited, and no data that has a property of that name', () => {
  expect([Promise.resolve(1), startedLater()].map((value: unknown) => isPromise(value))).toEqual([true, true])
  const data = [JSON.parse('{"then":"x"}'), JSON.parse('{"then":null}'), [], 'then', null, undefined, () => undefined]
  expect(data.map((value: unknown) => isPromise(value))).toEqual(data.map(() => false))
})

/** A thenable that is not a Promise. */
function startedLater(): object {
  return Object.fromEntries([['then', () => undefined]])
}
