import { appendFileSync } from 'node:fs'
import { runner } from '@troupe/flow'
import { defineTool } from '@troupe/kernel'
import { mcpServer } from '@troupe/mcp/server'
import { mcpHttpServer } from '@troupe/mcp/server/node'
import { calling } from '../server/served.fixture.ts'
import { storeAt } from './kept-in.ts'

// A server to be killed: it prints its address, and notes what its tool does in a file.
/** Short, as a killed process keeps its lease; but a busy machine may let a process wait for a second. */
const LEASE_MS = 3_000
const [, , notes = '', ...place] = process.argv
const store = storeAt(place)
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
  runner: (agent) => runner({ agent, store, limits: { leaseMs: LEASE_MS } }),
  agents: [calling(book, { people: 4 })],
  tools: [book],
  store,
  authenticate: ({ headers }) => ({ user: headers.get('x-user') ?? 'nobody' }),
})
const { url } = await mcpHttpServer(handler)
process.send?.(url)
