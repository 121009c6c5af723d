import { expect, it } from 'vitest'
import { addUsage, textOf } from './message.ts'

it('adds tokens up; an optional count is there if either side has it', () => {
  const a = { inputTokens: 1, outputTokens: 2 }
  expect(addUsage(a, a)).toEqual({ inputTokens: 2, outputTokens: 4 })
  expect(addUsage(a, { ...a, reasoningTokens: 5 })).toEqual({ inputTokens: 2, outputTokens: 4, reasoningTokens: 5 })
  expect(addUsage({ ...a, cacheWriteTokens: 4 }, a).cacheWriteTokens).toBe(4)
  expect(addUsage({ ...a, cachedInputTokens: 1 }, { ...a, cachedInputTokens: 2 }).cachedInputTokens).toBe(3)
  expect(addUsage({ ...a, cost: 0.5 }, { ...a, cost: 0.25 }).cost).toBe(0.75)
  expect(addUsage(a, a)).not.toHaveProperty('cost')
})

it('reads the text of a message, without reasoning and media', () => {
  expect(textOf('Hi')).toBe('Hi')
  expect(
    textOf([
      { type: 'reasoning', text: 'Hm' },
      { type: 'text', text: 'Hel' },
      { type: 'file', mediaType: 'image/png', url: 'https://example.com/a.png' },
      { type: 'text', text: 'lo' },
    ]),
  ).toBe('Hello')
})
