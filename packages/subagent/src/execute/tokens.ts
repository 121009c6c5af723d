import type { Usage } from '@troupe/kernel'

type Tokens = { -readonly [K in keyof Usage]: Usage[K] }
const KEYS = [
  'inputTokens',
  'outputTokens',
  'reasoningTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'cost',
] as const

/** Adds up input and output tokens. */
export function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens
}

/** Cleans the usage that a model reports. Contract: an invalid number counts as 0, so that it cannot disable a limit. */
export function soundUsage(usage: Usage): Usage {
  const sound: Tokens = { ...usage }
  for (const key of KEYS) if (sound[key] !== undefined && !isCount(sound[key])) sound[key] = 0
  return sound
}

/** Gives the difference between two totals. */
export function usageBetween(before: Usage, after: Usage): Usage {
  const between: Tokens = { inputTokens: 0, outputTokens: 0 }
  for (const key of KEYS) {
    const count = after[key]
    if (count !== undefined) between[key] = count - (before[key] ?? 0)
  }
  return between
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < Infinity
}
