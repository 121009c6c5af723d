import type { Tool } from '@troupe/kernel'
import { toJsonSchema } from '@troupe/kernel/kit'
import MiniSearch from 'minisearch'
import { words } from '../words.ts'

interface Entry {
  readonly id: number
  readonly name: string
  readonly description: string
  readonly parameters: string
}

/** Finds tools by what they are called, what they do and what they take. */
export class ToolIndex {
  readonly #tools: readonly Tool[]
  readonly #index: MiniSearch<Entry>

  constructor(tools: readonly Tool[]) {
    this.#tools = tools
    this.#index = new MiniSearch<Entry>({
      fields: ['name', 'description', 'parameters'],
      tokenize: words,
      searchOptions: {
        boost: { name: 3, description: 2 },
        prefix: (term) => term.length > 3,
        fuzzy: (term) => (term.length > 5 ? 0.2 : false),
      },
    })
    this.#index.addAll(
      tools.map(({ name, description, parameters }, id) => ({
        id,
        name,
        description,
        parameters: Object.keys(toJsonSchema(parameters).properties ?? {}).join(' '),
      })),
    )
  }

  /** Whether it is the index of exactly these tools. */
  isOf(tools: readonly Tool[]): boolean {
    return tools.length === this.#tools.length && tools.every((tool, i) => tool === this.#tools[i])
  }

  /** The tools that match best, the best first. */
  search(query: string, limit: number): readonly Tool[] {
    const exact = this.#tools.filter(({ name }) => name === query.trim())
    const hits = this.#index.search(query).map(({ id }) => this.#tools[id as number] as Tool)
    return [...new Set([...exact, ...hits])].slice(0, limit)
  }
}
