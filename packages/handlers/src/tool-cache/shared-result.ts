import type { ToolCallResult } from '@troupe/kernel'

/** A result as other calls get it: the attempts belong to the call that made them. */
export function sharedResult(result: ToolCallResult): ToolCallResult {
  if (result.attempts === undefined) return result
  const { attempts: _, ...shared } = result
  return shared
}
