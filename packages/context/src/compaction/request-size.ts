import type { Json, ModelRequest } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'

const CHARS_PER_TOKEN = 4
const MOST_CHARS = 4_000_000

/** How large a request was: its tokens, and about how many of them are not those of messages. */
export interface RequestSize {
  readonly tokens: number
  readonly fixed: number
}

/** About how many tokens the instruction and the tools of a request have. */
export function fixedTokens({ instruction, tools }: ModelRequest): number {
  return Math.round((instruction.length + jsonLength(tools, MOST_CHARS)) / CHARS_PER_TOKEN)
}

/** Reads what was noted. Contract: takes anything, because clients may write the state. */
export function readSize(due: Json, maxTokens: number): RequestSize {
  const [tokens, fixed] = Array.isArray(due) ? due : []
  const isCount = (value: unknown): value is number => typeof value === 'number' && value >= 0
  return isCount(tokens) && isCount(fixed) ? { tokens, fixed } : { tokens: maxTokens, fixed: 0 }
}
