import type { Usage } from '../data/message.ts'

/** The counts of usage as a store keeps them: a count that is null is absent, and there are no other fields. */
export function usageOf({ inputTokens, outputTokens, reasoningTokens, cachedInputTokens }: Usage): Usage {
  return {
    inputTokens,
    outputTokens,
    ...(typeof reasoningTokens === 'number' && { reasoningTokens }),
    ...(typeof cachedInputTokens === 'number' && { cachedInputTokens }),
  }
}
