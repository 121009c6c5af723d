import { runner } from '@troupe/flow'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpServer } from '@troupe/mcp/server'
import { mcpHttpServer } from '@troupe/mcp/server/node'
import { departures } from '../../../../examples/mcp-server/src/ferries.ts'

/** An MCP server on loopback with the timetable of the example. */
export interface Harbour extends AsyncDisposable {
  readonly url: string
  /** The `traceparent` of each of its requests. */
  readonly requests: string[]
}

export async function openHarbour(): Promise<Harbour> {
  const requests: string[] = []
  const store = memoryStore()
  const handler = mcpServer({
    runner: (agent) => runner({ agent, store }),
    tools: [departures],
    store,
    authenticate({ headers }) {
      requests.push(String(headers.get('traceparent')))
      return { user: 'ann' }
    },
  })
  const { url, stop } = await mcpHttpServer(handler)
  return { url, requests, [Symbol.asyncDispose]: () => stop(0) }
}
