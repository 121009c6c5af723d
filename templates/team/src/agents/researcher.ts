import { defineTool, type Tool } from '@troupe/kernel'
import { type AgentDefinition, defineAgent } from '@troupe/subagent'
import type { Shop } from '../shop.ts'

/** Looks for books: an agent as a tool, with a history and limits of its own. */
export const researcher: AgentDefinition = defineAgent({
  name: 'researcher',
  description: 'Looks through all books of the shop and reports those that fit.',
  input: { inputs: { topic: { type: 'string', description: 'What the books are about.', required: true } } },
  prompt: 'You look for books. Search for several words, then report the titles that fit.',
  tools: ['search_books'],
  limits: { maxTurns: 6, maxTokens: 20_000 },
})

/** Searches the books of the shop. */
export function searchBooks(shop: Shop): Tool {
  return defineTool({
    name: 'search_books',
    description: 'The books whose title, author or description has a word.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    kind: 'read',
    effect: 'pure',
    invoke({ word }) {
      const found = shop.books.filter((book) => book.toLowerCase().includes(word.toLowerCase()))
      return found.join('\n') || `No book has the word "${word}".`
    },
  }) as Tool
}
