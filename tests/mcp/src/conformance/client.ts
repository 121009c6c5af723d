/** The client that the conformance suite starts: an agent with `mcpTools` calls every tool of the server at the last argument. */
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { Answers, ChatModel, Interrupt, Json, JsonObject, ToolSpec } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type McpAuth, mcpTools } from '@troupe/mcp'

const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env
const url = process.argv.at(-1) ?? ''
const session = { app: 'conformance', user: 'ann', threadId: 't1' }
const MAX_QUESTIONS = 10

/** Arguments for a tool: the first value that its schema allows, for each property. */
function argumentsOf({ parameters }: ToolSpec): Json {
  const properties = Object.entries((parameters.properties ?? {}) as { readonly [name: string]: JsonObject })
  return Object.fromEntries(properties.map(([name, schema]) => [name, sampleOf(schema)]))
}

function sampleOf({ type, enum: values, default: value, minimum }: JsonObject): Json {
  if (value !== undefined) return value
  if (Array.isArray(values)) return (values as readonly Json[])[0] ?? null
  if (type === 'number' || type === 'integer') return minimum ?? 5
  if (type === 'boolean') return true
  if (type === 'array') return []
  return type === 'object' ? {} : 'test'
}

const {
  toolCalls,
  client_id: clientId,
  client_secret: clientSecret,
} = JSON.parse(context) as {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Json }[]
  readonly client_id?: string
  readonly client_secret?: string
}

/** The calls to make: those that the scenario names, or each tool once. */
function callsOf(tools: readonly ToolSpec[]): readonly { readonly name: string; readonly arguments: Json }[] {
  return (
    toolCalls?.map((call) => ({ ...call, arguments: given(call.arguments) })) ??
    tools.map((tool) => ({ name: tool.name, arguments: argumentsOf(tool) }))
  )
}

/** The arguments without those that are null: a model leaves them out. */
function given(args: Json): Json {
  return Object.fromEntries(Object.entries(args as JsonObject).filter(([, value]) => value !== null))
}

/** Makes these calls, then ends. */
const model: ChatModel = {
  name: 'every-tool',
  async *stream({ messages, tools }) {
    const usage = { inputTokens: 0, outputTokens: 0 }
    const called = messages.filter(({ role }) => role === 'assistant').length
    const call = callsOf(tools)[called]
    if (call) {
      const callId = `c${called}`
      yield { type: 'tool-call-start', callId, name: call.name }
      yield { type: 'tool-call-delta', callId, delta: JSON.stringify(call.arguments) }
      yield { type: 'tool-call-end', callId }
      yield { type: 'finish', reason: 'tool-calls', usage }
      return
    }
    yield { type: 'text-delta', delta: 'Done.' }
    yield { type: 'finish', reason: 'stop', usage }
  },
}

function authOf(): McpAuth {
  return {
    redirectUrl: 'http://localhost:3000/callback',
    clientName: 'troupe-conformance',
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    ...(clientId !== undefined && {
      client: { id: clientId, ...(clientSecret !== undefined && { secret: clientSecret }) },
    }),
  }
}

/** What a person answers: signs in, or takes what a form proposes. */
async function answerTo({ reason, metadata, responseSchema }: Interrupt): Promise<Json> {
  if (reason !== 'auth') return responseSchema ? {} : null
  const response = await fetch(String(metadata?.url), { redirect: 'manual' })
  return { redirectedTo: response.headers.get('location') ?? '' }
}

await using tools = mcpTools({
  servers: { it: { url, trusted: true, prefix: '', ...(scenario.startsWith('auth/') && { auth: authOf() }) } },
  client: { name: 'troupe-conformance', version: '1.0.0' },
  report: (report) => console.error(JSON.stringify(report)),
})
const { query, resume } = runner({
  agent: chatModelAgent({ name: 'guide', model, handlers: [tools], maxIterations: 50 }),
  store: memoryStore(),
})
let result = await query('Go', { session })
for (let i = 0; i < MAX_QUESTIONS && result.outcome === 'interrupted'; i++) {
  const answers: [string, Json][] = []
  for (const interrupt of result.interrupts ?? []) answers.push([interrupt.id, await answerTo(interrupt)])
  result = await resume(Object.fromEntries(answers) as Answers, { session })
}
for (const message of result.messages)
  if (message.role === 'tool') console.error(message.name, JSON.stringify(message.error ?? message.content))
console.error(result.outcome, result.error ?? '')
