import { setTimeout } from 'node:timers/promises'
import { runner } from '@troupe/flow'
import { defineTool, type Tool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type McpHandler, mcpServer } from '@troupe/mcp/server'
import { add, book, calling } from '../server/served.fixture.ts'

const NOTHING = { type: 'object', properties: {} } as const

const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  parameters: NOTHING,
  invoke() {
    throw new Error('out of paper')
  },
})

const count = defineTool({
  name: 'count',
  description: 'Counts.',
  parameters: NOTHING,
  async *stream() {
    for (const step of ['one', 'two', 'three']) yield `${step}\n`
    // So that the result does not come in the same piece as the progress before it.
    await setTimeout(100)
    return 'done'
  },
})

/** Waits until it is stopped, and notes both. */
const waiting = (note: (line: string) => void): Tool =>
  defineTool({
    name: 'wait',
    description: 'Waits.',
    parameters: NOTHING,
    invoke: (_, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          note('stopped')
          reject(signal.reason)
        })
        note('waits')
      }),
  })

/** A server of ours with an agent and tools, for a client of ours. */
export function ownServer(note: (line: string) => void): McpHandler {
  const store = memoryStore()
  return mcpServer({
    runner: (agent) => runner({ agent, store }),
    agents: [calling(book, { people: 4 })],
    tools: [add, book, fail, count, waiting(note)],
    store,
    owner: { app: 'own', user: 'me' },
  })
}
