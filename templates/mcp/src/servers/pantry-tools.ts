import { appendFile } from 'node:fs/promises'
import { defineTool, type Tool } from '@troupe/kernel'

const STOCK: Readonly<Record<string, number>> = { rice: 3, lentils: 1, tomatoes: 0, milk: 2 }

/** Tools of a pantry with made-up stock; what is ordered is written into a file. */
export function pantryTools(orders: string): readonly Tool[] {
  const stock = defineTool({
    name: 'stock',
    description: 'What is in the pantry, and how much.',
    parameters: { type: 'object' },
    kind: 'read',
    effect: 'pure',
    invoke: () => STOCK,
  })
  const order = defineTool({
    name: 'order',
    description: 'Orders something for the pantry.',
    parameters: { type: 'object', properties: { thing: { type: 'string' } }, required: ['thing'] },
    kind: 'write',
    // The question reaches the person through every agent and host in between.
    needsApproval: () => true,
    async invoke({ thing }) {
      await appendFile(orders, `${thing}\n`)
      return `Ordered: ${thing}`
    },
  })
  return [stock, order as Tool]
}
