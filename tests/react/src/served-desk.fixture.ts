import { type AgUiHandlerOptions, agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { chatModelAgent } from '@troupe/chat-model'
import { type RunnerOptions, runner } from '@troupe/flow'
import { defineTool, type JsonObject, type Owner, type Store, type Tool, textOf } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type ScriptedModel, type ScriptedTurn, scriptedModel } from '@troupe/testkit'

export const OWNER: Owner = { app: 'desk', user: 'ann' }

/** What a model says to call a tool. */
export function calls(name: string, args: JsonObject = {}): ScriptedTurn {
  return { toolCalls: [{ name, arguments: args }] }
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  needsApproval: () => true,
  invoke: ({ amount }) => `Paid ${amount}.`,
})

const book = defineTool({
  name: 'book',
  description: 'Books a table.',
  parameters: { type: 'object' },
  async invoke(_, ctx) {
    const answer = await ctx.interrupt<JsonObject>({
      reason: 'input',
      message: 'When shall it be?',
      responseSchema: {
        type: 'object',
        properties: {
          time: { type: 'string', title: 'Time', enum: ['noon', 'evening'] },
          people: { type: 'integer', title: 'People', minimum: 1 },
          garden: { type: 'boolean', title: 'In the garden' },
          wish: { type: 'string', title: 'Wish' },
        },
        required: ['time', 'people'],
      },
    })
    return `Booked: ${JSON.stringify(answer)}.`
  },
})

const note = defineTool({
  name: 'note',
  description: 'Writes something down.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  invoke({ text }, ctx) {
    ctx.state.set('notes', [...((ctx.state.get('notes') as string[] | undefined) ?? []), text])
    return 'Noted.'
  },
})

/** An agent with a scripted model, served on loopback. */
export interface ServedDesk extends AsyncDisposable {
  readonly url: string
  readonly store: Store
  readonly model: ScriptedModel
  /** What the model was asked last, as `role: text`. */
  heard(): readonly string[]
  /** The messages of a thread, as `role: text`. */
  stored(threadId: string): Promise<readonly string[]>
  /** Stops the server; its runs are cut off. */
  stop(): Promise<void>
}

export interface DeskOptions extends Omit<Partial<AgUiHandlerOptions>, 'store'> {
  readonly store?: Store
  readonly port?: number
  readonly flow?: Partial<RunnerOptions>
}

/** Serves an agent whose model follows a script. */
export async function serveDesk(
  turns: readonly ScriptedTurn[],
  { port = 0, flow = {}, store = memoryStore(), ...options }: DeskOptions = {},
): Promise<ServedDesk> {
  const model = scriptedModel(turns)
  const agent = chatModelAgent({ name: 'Desk', model, tools: [pay, book, note] as Tool[] })
  const settings = {
    runner: runner({ agent, store, report: () => {}, ...flow }),
    store,
    report: () => {},
    ...('authenticate' in options ? {} : { owner: OWNER }),
    ...options,
  }
  const server = await agUiServer(agUiHandler(settings as AgUiHandlerOptions), { port })
  return {
    url: server.url,
    store,
    model,
    heard: () => model.requests.at(-1)?.messages.map(({ role, content }) => `${role}: ${textOf(content)}`) ?? [],
    async stored(threadId) {
      const rows = await store.threads.messages({ ...OWNER, threadId })
      return rows.map(({ message: { role, content } }) => `${role}: ${textOf(content)}`)
    },
    stop: () => server.stop(0),
    [Symbol.asyncDispose]: () => server.stop(0),
  }
}
