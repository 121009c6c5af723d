import { defineTool, type Tool } from '@troupe/kernel'
import type { Shop } from '../shop.ts'

const parameters = {
  type: 'object',
  properties: { order: { type: 'integer', description: 'the number of the order' } },
  required: ['order'],
} as const

/** Finds orders and pays them back. Who may call what is in `rules.ts`. */
export function orderTools(shop: Shop): readonly Tool[] {
  const findOrder = defineTool({
    name: 'find_order',
    description: 'The title and the state of an order.',
    parameters,
    kind: 'read',
    effect: 'pure',
    invoke({ order }) {
      const { title, state } = shop.order(order)
      return `Order ${order}, ${title}: ${state}.`
    },
  })
  const refundOrder = defineTool({
    name: 'refund_order',
    description: 'Pays an order back to the customer.',
    parameters,
    kind: 'write',
    // Paying back an order that was paid back changes nothing, so after a crash the call may be made again.
    effect: 'idempotent',
    invoke: ({ order }) => `Order ${order} is paid back: ${shop.refund(order).title}.`,
  })
  return [findOrder as Tool, refundOrder as Tool]
}
