import { defineTool, type Json, type Tool } from '@troupe/kernel'

const BOOKS = [
  { title: 'The Salt Road', topic: 'travel', price: 14 },
  { title: 'Bread at Home', topic: 'cooking', price: 22 },
  { title: 'A Year of Soup', topic: 'cooking', price: 18 },
  { title: 'Small Boats', topic: 'sailing', price: 16 },
] as const

/** Tools of a bookshop. An order asks the user first. */
export function bookTools(): readonly Tool[] {
  const searchBooks = defineTool({
    name: 'search_books',
    description: 'Searches the books of the shop by title or topic.',
    parameters: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
    kind: 'read',
    effect: 'pure',
    invoke({ words }) {
      const wanted = words.toLowerCase()
      const found = BOOKS.filter(({ title, topic }) => `${title} ${topic}`.toLowerCase().includes(wanted))
      if (found.length === 0) return `There are no books about ${words}.`
      return found.map(({ title, price }) => `- **${title}**, ${price} €`).join('\n')
    },
  })
  const orderBook = defineTool({
    name: 'order_book',
    description: 'Orders a book for the user.',
    parameters: {
      type: 'object',
      properties: { title: { type: 'string' }, copies: { type: 'integer', minimum: 1, default: 1 } },
      required: ['title', 'copies'],
    },
    kind: 'write',
    effect: 'once',
    needsApproval: () => true,
    invoke({ title, copies }, ctx) {
      const orders = ctx.state.get('orders')
      ctx.state.set('orders', [...(Array.isArray(orders) ? (orders as Json[]) : []), { title, copies }])
      return `Ordered: ${copies} × ${title}.`
    },
  })
  return [searchBooks, orderBook] as Tool[]
}
