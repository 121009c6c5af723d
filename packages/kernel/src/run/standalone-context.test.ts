import { describe, expect, test } from 'vitest'
import { contextKey } from '../index.ts'
import { createRunContext } from '../run.ts'

describe('a context', () => {
  const KEY = contextKey<number>('key')
  const NAMESAKE = contextKey<number>('key')

  test('derived a thousand times keeps every value where it was put', () => {
    const chain = [createRunContext()]
    for (let i = 1; i <= 1_000; i++)
      for (const ctx of chain.slice(-1)) chain.push(ctx.with(KEY, i).derive({ step: `${i}` }))
    expect(chain.map((ctx) => ctx.get(KEY))).toEqual([undefined, ...Array.from({ length: 1_000 }, (_, i) => i + 1)])
    expect(chain.at(-1)?.with(NAMESAKE, -1).get(KEY)).toBe(1_000)
    expect([chain.at(-1)?.get(NAMESAKE), chain[0]?.step]).toEqual([undefined, ''])
    expect(chain.at(-1)?.step.split('/')).toHaveLength(1_000)
  })

  test.each([{ name: 'key' }, 'key', undefined, Symbol('key')])('refuses a value that is not a key (%#)', (key) => {
    const invalid = expect.objectContaining({ code: 'CONTEXT_KEY_INVALID' })
    expect(() => createRunContext().get(key as never)).toThrow(invalid)
    expect(() => createRunContext().with(key as never, 1 as never)).toThrow(invalid)
  })
})
