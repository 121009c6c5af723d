/** A server over HTTP that starts again whenever it is told to, and says what is left of the one before: `node restarting-server.ts <stateful|2026-07-28> <notes>`. */
import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { runner } from '@troupe/flow'
import { defineTool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { mcpServer } from '@troupe/mcp/server'
import { mcpHttpServer } from '@troupe/mcp/server/node'
import { statefulOnly } from '../server/stateful-only.ts'
import { leftOver, openHandles } from './open-handles.ts'

const [, , generation, notes = ''] = process.argv
const noteOnce = defineTool({
  name: 'note_once',
  description: 'Writes a line.',
  parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  async invoke({ id }) {
    appendFileSync(notes, `noted ${id}\n`)
    // So that a restart finds calls under way, before and after they are carried out.
    await setTimeout(5)
    return 'noted'
  },
})

function handlerOf() {
  const store = memoryStore()
  const handler = mcpServer({
    runner: (agent) => runner({ agent, store }),
    tools: [noteOnce],
    store,
    owner: { app: 'restarts', user: 'me' },
  })
  return generation === 'stateful' ? statefulOnly(handler) : handler
}

process.on('disconnect', () => process.exit(0))
process.on('message', (told) => void (told === 'restart' ? restart() : leave()))
const before = openHandles()
let handler = handlerOf()
let server = await mcpHttpServer(handler)
const port = Number(new URL(server.url).port)
process.send?.(server.url)

/** As abruptly as a process that dies, but in one that can be looked at. */
async function restart(): Promise<void> {
  server.server.closeAllConnections()
  await server.stop(0)
  const open = handler.open()
  handler = handlerOf()
  server = await mcpHttpServer(handler, { port })
  process.send?.(open)
}

/** After the clients have left. */
async function leave(): Promise<void> {
  const { sessions, calls, streams } = handler.open()
  await server.stop(0)
  process.send?.({ sessions, calls, streams, ...(await leftOver(before)) })
}
