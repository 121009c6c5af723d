import { defineTool, type Tool } from '@troupe/kernel'

const AMOUNTS = [120, 80, 45, 310]

const parameters = {
  type: 'object',
  properties: { invoice: { type: 'integer', minimum: 1, description: 'its number' } },
  required: ['invoice'],
} as const

/** Tools for invoices, with made-up amounts. */
export function invoiceTools(): readonly Tool[] {
  const findInvoice = defineTool({
    name: 'find_invoice',
    description: 'The amount of an invoice.',
    parameters,
    kind: 'read',
    effect: 'pure',
    invoke: ({ invoice }) => `Invoice ${invoice}: ${amountOf(invoice)} euros.`,
  })
  const payInvoice = defineTool({
    name: 'pay_invoice',
    description: 'Pays an invoice.',
    parameters,
    kind: 'write',
    // After a crash a call that may have been made is not made again: the model is told that its outcome is unknown.
    effect: 'once',
    needsApproval: () => true,
    invoke: ({ invoice }) => `Invoice ${invoice} is paid: ${amountOf(invoice)} euros.`,
  })
  return [findInvoice as Tool, payInvoice as Tool]
}

function amountOf(invoice: number): number {
  return AMOUNTS[invoice % AMOUNTS.length] ?? 0
}
