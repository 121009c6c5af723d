/** Serves an agent of Troupe on loopback, once for each value of `onDisconnect`. It sends its addresses to its parent, and ends with it. */
import { agUiHandler } from '../../../../packages/ag-ui/src/index.ts'
import { agUiServer } from '../../../../packages/ag-ui/src/node.ts'
import { chatModelAgent } from '../../../../packages/chat-model/src/index.ts'
import { agentTool, runner, setSubAgents } from '../../../../packages/flow/src/index.ts'
import { defineTool, type Json } from '../../../../packages/kernel/src/index.ts'
import { memoryStore } from '../../../../packages/kernel/src/memory-store.ts'
import { commandModel } from './command-model.ts'

const weather = defineTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  invoke: ({ city }) => `Sunny in ${city}.`,
})

const writeNote = defineTool({
  name: 'write_note',
  description: 'Keeps a note.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  invoke: ({ text }, ctx) => {
    const notes = (ctx.state.get('notes') ?? []) as readonly Json[]
    ctx.state.set('notes', [...notes, text])
    return `${notes.length + 1} kept.`
  },
})

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  needsApproval: () => true,
  invoke: ({ amount }) => `Paid ${amount}.`,
})

const neverEnds = defineTool({
  name: 'never_ends',
  description: 'Works until it is stopped.',
  parameters: { type: 'object', properties: {} },
  invoke: (_, { signal }) =>
    new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
})

const model = commandModel()
const expert = chatModelAgent({ name: 'ask_expert', description: 'Knows the weather.', model, tools: [weather] })
const clerk = chatModelAgent({ name: 'Clerk', description: 'Keeps the books.', model })
const desk = chatModelAgent({
  name: 'Desk',
  description: 'Helps.',
  model,
  instruction: 'Be brief.',
  tools: [weather, writeNote, pay, neverEnds, agentTool(expert, { forward: true })],
})
const store = memoryStore()
const shared = runner({ agent: setSubAgents(desk, [clerk]), store })

async function serve(onDisconnect: 'cancel' | 'detach'): Promise<string> {
  const handler = agUiHandler({
    assumedVersion: '0.0.59',
    runner: shared,
    store,
    onDisconnect,
    appName: 'compat',
    // The token is the name of the user; without one there is no user.
    authenticate({ headers }) {
      const [, user] = /^Bearer (\w+)$/.exec(headers.get('authorization') ?? '') ?? []
      return user === undefined ? undefined : { user }
    },
    report: () => {},
  })
  return (await agUiServer(handler)).url
}

process.on('disconnect', () => process.exit(0))
process.send?.({ cancel: await serve('cancel'), detach: await serve('detach') })
