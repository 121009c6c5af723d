import type { Usage } from '../data/message.ts'

/** The counts of usage as a store keeps them: a count that is null is absent, and there are no other fields. */
export function usageOf(usage: Usage): Usage {
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens, cacheWriteTokens, cost } = usage
  return {
    inputTokens,
    outputTokens,
    ...(typeof reasoningTokens === 'number' && { reasoningTokens }),
    ...(typeof cachedInputTokens === 'number' && { cachedInputTokens }),
    ...(typeof cacheWriteTokens === 'number' && { cacheWriteTokens }),
    ...(typeof cost === 'number' && { cost }),
  }
}
