import { appendFileSync } from 'node:fs'
import { runner } from '@troupe/flow'
import { defineTool, type Store } from '@troupe/kernel'
import { mcpServer } from '@troupe/mcp/server'
import { mcpHttpServer } from '@troupe/mcp/server/node'
import { postgresStore } from '@troupe/store-postgres'
import { sqliteStore } from '@troupe/store-sqlite'
import { calling } from './served.fixture.ts'

// A server to be killed: it prints its address, and notes what its tool does in a file.
const [, , kind = '', where = '', schema = '', notes = ''] = process.argv
const store: Store = kind === 'sqlite' ? sqliteStore({ path: where }) : postgresStore({ url: where, schema })
process.on('disconnect', () => process.exit(0))

const book = defineTool({
  name: 'book_table',
  description: 'Books a table.',
  parameters: { type: 'object', properties: { people: { type: 'number' } }, required: ['people'] },
  async invoke({ people }, ctx) {
    const responseSchema = { type: 'string' } as const
    const time = await ctx.interrupt<string>({ reason: 'input', message: `When, for ${people}?`, responseSchema })
    appendFileSync(notes, `${time}\n`)
    if (process.env.HANGS === '1') {
      process.send?.('hangs')
      await new Promise(() => undefined)
    }
    return `A table for ${people} at ${time}.`
  },
})
const handler = mcpServer({
  runner: (agent) => runner({ agent, store, limits: { leaseMs: 1_000 } }),
  agents: [calling(book, { people: 4 })],
  tools: [book],
  store,
  authenticate: ({ headers }) => ({ user: headers.get('x-user') ?? 'nobody' }),
})
const { url } = await mcpHttpServer(handler)
process.send?.(url)
