/** A process that asks a question of a server, says so, and waits to be killed; or that answers it: `node asking-process.ts <ask|answer> <database> <stateful|both> <file>`. */

import { mcpTools } from '@troupe/mcp'
import { sqliteStore } from '@troupe/store-sqlite'
import { deskCommand, runnerFor, SESSION } from '../agent.fixture.ts'

const [, , part, path = '', generation, file = ''] = process.argv
const store = sqliteStore({ path })
const tools = mcpTools({ servers: { desk: deskCommand(generation === 'both' ? 'both' : 'stateful', file) } })
const calls = [[{ name: 'desk_book', arguments: { people: 3 } }]]

if (part === 'ask') {
  const { outcome } = await runnerFor(tools, calls, store).query('Book', { session: SESSION })
  process.stdout.write(`${outcome}\n`)
  // Whoever started this process kills it.
  setInterval(() => undefined, 1000)
} else {
  const { resume } = runnerFor(tools, [], store)
  const checkpoint = (await store.threads.get(SESSION))?.checkpoint
  const ids = checkpoint?.interrupts.map(({ id }) => id) ?? []
  const { outcome, messages } = await resume(Object.fromEntries(ids.map((id) => [id, { name: 'Ann' }])), {
    session: SESSION,
  })
  const content = messages.find(({ role }) => role === 'tool')?.content
  process.stdout.write(`${JSON.stringify({ questions: ids.length, outcome, content })}\n`)
  await tools[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
}
