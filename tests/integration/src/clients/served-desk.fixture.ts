import { type AgUiHandlerOptions, agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { defineTool, type JsonObject, type Owner, type Store, type Tool, textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'

const OWNER: Owner = { app: 'desk', user: 'ann' }

const pay: Tool = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  needsApproval: () => true,
  invoke: ({ amount }) => `Paid ${amount}.`,
})

/** What a model says to call a tool. */
export function calls(name: string, args: JsonObject): ScriptedTurn {
  return { toolCalls: [{ name, arguments: args }] }
}

/** An agent with a scripted model, served on loopback to clients of other projects. */
export interface ServedDesk extends AsyncDisposable {
  readonly url: string
  /** What the model was asked last, as `role: text`. */
  heard(): readonly string[]
  /** The messages of a thread, as `role: text`. */
  stored(threadId: string): Promise<readonly string[]>
}

/** Serves an agent whose model follows a script. */
export async function serveDesk(
  turns: readonly ScriptedTurn[],
  options: Partial<AgUiHandlerOptions> = {},
  store: Store = memoryStore(),
): Promise<ServedDesk> {
  const model = scriptedModel(turns)
  const agent = chatModelAgent({ name: 'Desk', model, tools: [pay] })
  const flow = runner({ agent, store, report: () => {} })
  const settings = { runner: flow, store, owner: OWNER, report: () => {}, ...options }
  const server = await agUiServer(agUiHandler(settings as AgUiHandlerOptions))
  return {
    url: server.url,
    heard: () => model.requests.at(-1)?.messages.map(({ role, content }) => `${role}: ${textOf(content)}`) ?? [],
    async stored(threadId) {
      const rows = await store.threads.messages({ ...OWNER, threadId })
      return rows.map(({ message: { role, content } }) => `${role}: ${textOf(content)}`)
    },
    [Symbol.asyncDispose]: () => server.stop(100),
  }
}
