import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type Agent, defineTool, type Tool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type McpHandler, type McpServerOptions, mcpServer } from '@troupe/mcp/server'
import { type McpHttpServer, mcpHttpServer } from '@troupe/mcp/server/node'
import { scriptedModel } from '@troupe/testkit'

/** Both generations of the protocol. */
export const GENERATIONS = ['stateful', '2026-07-28'] as const
export type Generation = (typeof GENERATIONS)[number]

export const book: Tool = defineTool({
  name: 'book_table',
  description: 'Books a table.',
  parameters: { type: 'object', properties: { people: { type: 'number' } }, required: ['people'] },
  async invoke({ people }, ctx) {
    const time = await ctx.interrupt<string>({
      reason: 'input',
      message: `At what time, for ${people}?`,
      responseSchema: { type: 'string' },
    })
    return `A table for ${people} at ${time}.`
  },
})

export const add: Tool = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  kind: 'read',
  invoke: ({ a, b }) => ({ sum: a + b }),
})

/** An agent that answers with what it was told, and how often it was told something. */
export function echo(name = 'echo'): Agent {
  return chatModelAgent({
    name,
    description: 'Repeats what it hears.',
    model: scriptedModel(
      [
        ({ messages }) => {
          const said = messages.filter(({ role }) => role === 'user')
          return `${said.length}: ${JSON.stringify(said.at(-1)?.content)}`
        },
      ],
      { repeat: true },
    ),
  })
}

/** An agent that calls one tool and then says what came of it. */
export function calling(tool: Tool, args: object, name = 'host'): Agent {
  return chatModelAgent({
    name,
    description: 'Calls a tool.',
    tools: [tool],
    model: scriptedModel(
      [
        ({ messages }) => {
          const last = messages.at(-1)
          if (last?.role === 'tool') return `It said: ${JSON.stringify(last.content)}`
          return { toolCalls: [{ name: tool.name, arguments: args as never }] }
        },
      ],
      { repeat: true },
    ),
  })
}

/** A handler on loopback, and clients of it. */
export interface Served extends AsyncDisposable {
  readonly handler: McpHandler
  readonly server: McpHttpServer
  readonly url: URL
  connect(generation: Generation, options?: ConnectOptions): Promise<Client>
}

export interface ConnectOptions {
  readonly user?: string
  readonly client?: ClientOptions
  /** Answers forms. */
  readonly answer?: (params: {
    readonly message: string
    readonly requestedSchema: unknown
  }) => object | Promise<object>
}

/** Serves something over HTTP; the user is in a header. */
export async function served(options: Partial<McpServerOptions>): Promise<Served> {
  const store = options.store ?? memoryStore()
  const handler = mcpServer({
    runner: (agent) => runner({ agent, store: store as never }),
    store,
    ...(!options.owner && {
      authenticate: ({ headers }) => {
        const user = headers.get('x-user')
        return user === null ? undefined : { user }
      },
    }),
    ...options,
  } as McpServerOptions)
  const server = await mcpHttpServer(handler)
  const url = new URL(server.url)
  const clients: Client[] = []
  return {
    handler,
    server,
    url,
    async connect(generation, { user = 'ann', answer, client: given } = {}) {
      const client = clientOf(generation, { ...(answer && { answer }), ...(given && { client: given }) })
      clients.push(client)
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { 'x-user': user } } }))
      return client
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()))
      await server.stop(0)
    },
  }
}

/** A client of one generation. */
export function clientOf(generation: Generation, { answer, client: given }: ConnectOptions = {}): Client {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      capabilities: answer ? { elicitation: { form: {} } } : {},
      versionNegotiation: { mode: generation === 'stateful' ? 'legacy' : { pin: '2026-07-28' } },
      ...given,
    },
  )
  if (answer) client.setRequestHandler('elicitation/create', async ({ params }) => answer(params as never) as never)
  return client
}
