import { calcPrice } from '@pydantic/genai-prices'
import { describe, expect, it } from 'vitest'
import { genaiPrices } from './price.ts'

const price = genaiPrices(calcPrice)
const usage = { inputTokens: 1_000_000, outputTokens: 1_000_000 }

describe('genaiPrices', () => {
  it.each(['openai:gpt-4o', 'gpt-4o', 'openai.responses:gpt-4o', 'openai.chat:gpt-4o-2024-11-20'])(
    'knows %s by its name',
    (model) => {
      expect(price(model, usage)).toBeCloseTo(12.5)
    },
  )

  it('counts cached tokens at their own price', () => {
    const all = price('anthropic:claude-sonnet-4-5', usage) ?? 0
    const read = price('anthropic:claude-sonnet-4-5', { ...usage, cachedInputTokens: 1_000_000 }) ?? 0
    const written = price('anthropic:claude-sonnet-4-5', { ...usage, cacheWriteTokens: 1_000_000 }) ?? 0
    expect(read).toBeLessThan(all)
    expect(written).toBeGreaterThan(all)
  })

  it('takes counts that do not fit together', () => {
    const odd = { inputTokens: 10, outputTokens: 0, cachedInputTokens: 100, cacheWriteTokens: 100 }
    expect(price('openai:gpt-4o', odd)).toBeGreaterThan(0)
  })

  it('does not know a model that is not in the list', () => {
    expect(price('scripted', usage)).toBeUndefined()
    expect(price('vendor:model', usage)).toBeUndefined()
  })
})
