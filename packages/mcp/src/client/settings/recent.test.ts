import { expect, it } from 'vitest'
import { Recent } from './recent.ts'

it('keeps the thousand keys that were set last', () => {
  const recent = new Recent<number>()
  for (let i = 0; i < 1000; i++) recent.set(`${i}`, i)
  recent.set('0', 0)
  recent.set('new', 1)
  expect(recent.size).toBe(1000)
  expect([recent.has('0'), recent.has('1'), recent.has('new')]).toEqual([true, false, true])
})
