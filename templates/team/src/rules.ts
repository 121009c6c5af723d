import type { PolicyRule } from '@troupe/subagent'

/**
 * What agents may call. Without a rule, tools that read may run, and tools that write ask.
 * Deny beats ask, and ask beats allow, whatever the order.
 */
export const rules: readonly PolicyRule[] = [
  { effect: 'ask', tool: 'refund_order', reason: 'money leaves the shop' },
  { effect: 'deny', tool: 'refund_order', args: { order: { equals: 1003 } }, reason: 'this order is with the lawyers' },
]
