import type { Agent } from '@troupe/kernel'
import type { App } from '../app.ts'
import { orderTools } from './order-tools.ts'

/** Knows the orders. */
export function orders({ newAgent, policy, shop }: Pick<App, 'newAgent' | 'policy' | 'shop'>): Agent {
  return newAgent({
    name: 'orders',
    description: 'Knows where orders are, and pays them back.',
    instruction: 'You help with orders. Look an order up before you speak of it. Answer in one or two sentences.',
    tools: orderTools(shop).map((tool) => policy.guard(tool, { path: [] })),
  })
}
