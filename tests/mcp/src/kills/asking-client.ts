/** An agent that a server asks, which says so and waits to be killed; or that answers: `node asking-client.ts <ask|answer> <stateful|both> <notes> <place of the threads>`. */
import { mcpTools } from '@troupe/mcp'
import { deskCommand, runnerFor, SESSION } from '../agent.fixture.ts'
import { storeAt } from './kept-in.ts'

const [, , part, generation, notes = '', ...place] = process.argv
const store = storeAt(place)
const tools = mcpTools({ servers: { desk: deskCommand(generation === 'both' ? 'both' : 'stateful', notes) } })
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
