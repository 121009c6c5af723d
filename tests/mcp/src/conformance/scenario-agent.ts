import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { Answers, ChatModel, Interrupt, Json, JsonObject, ToolSpec } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type McpAuth, mcpTools } from '@troupe/mcp'

/** What the suite tells a client. */
export interface Scenario {
  readonly name: string
  /** The address of the server that the suite has started. */
  readonly url: string
  /** What else it needs, as JSON. */
  readonly context: string
}

interface ScenarioContext {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Json }[]
  readonly client_id?: string
  readonly client_secret?: string
}

const session = { app: 'conformance', user: 'ann', threadId: 't1' }
const MAX_QUESTIONS = 10

/** Lets an agent with `mcpTools` call the tools of the server; gives what it reports on the way, line by line. */
export async function runScenario({ name, url, context }: Scenario): Promise<readonly string[]> {
  const lines: string[] = []
  const given = JSON.parse(context) as ScenarioContext
  await using tools = mcpTools({
    // All scenarios begin at once, so one may wait for its turn.
    servers: {
      it: {
        url,
        trusted: true,
        prefix: '',
        connectTimeoutMs: 120_000,
        ...(name.startsWith('auth/') && { auth: authOf(given) }),
      },
    },
    client: { name: 'troupe-conformance', version: '1.0.0' },
    report: (report) => lines.push(JSON.stringify(report)),
  })
  const { query, resume } = runner({
    agent: chatModelAgent({ name: 'guide', model: callingModel(given), handlers: [tools], maxIterations: 50 }),
    store: memoryStore(),
  })
  let result = await query('Go', { session })
  for (let i = 0; i < MAX_QUESTIONS && result.outcome === 'interrupted'; i++) {
    const answers: [string, Json][] = []
    for (const interrupt of result.interrupts ?? []) answers.push([interrupt.id, await answerTo(interrupt)])
    result = await resume(Object.fromEntries(answers) as Answers, { session })
  }
  for (const message of result.messages)
    if (message.role === 'tool') lines.push(`${message.name} ${JSON.stringify(message.error ?? message.content)}`)
  return [...lines, `${result.outcome} ${result.error?.message ?? ''}`]
}

/** A model that makes the calls that the scenario names, or calls each tool once, and then ends. */
function callingModel({ toolCalls }: ScenarioContext): ChatModel {
  const callsOf = (tools: readonly ToolSpec[]) =>
    toolCalls?.map((call) => ({ ...call, arguments: given(call.arguments) })) ??
    tools.map((tool) => ({ name: tool.name, arguments: argumentsOf(tool) }))
  return {
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
}

/** The arguments without those that are null: a model leaves them out. */
function given(args: Json): Json {
  return Object.fromEntries(Object.entries(args as JsonObject).filter(([, value]) => value !== null))
}

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

function authOf({ client_id: id, client_secret: secret }: ScenarioContext): McpAuth {
  return {
    redirectUrl: 'http://localhost:3000/callback',
    clientName: 'troupe-conformance',
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    ...(id !== undefined && { client: { id, ...(secret !== undefined && { secret }) } }),
  }
}

/** What a person answers: signs in, or takes what a form proposes. */
async function answerTo({ reason, metadata, responseSchema }: Interrupt): Promise<Json> {
  if (reason !== 'auth') return responseSchema ? {} : null
  const response = await fetch(String(metadata?.url), { redirect: 'manual' })
  return { redirectedTo: response.headers.get('location') ?? '' }
}
