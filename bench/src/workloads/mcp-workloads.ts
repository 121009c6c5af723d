import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { AgentConfig, Tool, ToolCallInput } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { mcpTools } from '@troupe/mcp'
import type { Workload } from '../measure.ts'

const CALLS = 100
const URL_OF_SERVER = 'http://localhost/mcp'
const TOOL = { name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }
const ARGS = { a: 1, b: 2 }
const INPUT: ToolCallInput = { name: 'add', arguments: '{}', callId: 'c', step: 'tool:0:0', idempotencyKey: 'k' }

/** The workloads of MCP, and what closes their connections. */
export interface McpWorkloads extends AsyncDisposable {
  readonly workloads: readonly Workload[]
}

/** A server without a network and without work, so that what is measured is the client. */
async function answer(_url: string | URL, init?: RequestInit): Promise<Response> {
  if (init?.method !== 'POST') return new Response(null, { status: 405 })
  const { id, method } = JSON.parse(String(init.body)) as { readonly id?: number; readonly method: string }
  if (id === undefined) return new Response(null, { status: 202 })
  const result = resultOf(method)
  const error = { code: -32601, message: 'unknown' }
  return Response.json({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })
}

function resultOf(method: string): object | undefined {
  if (method === 'tools/call') return { content: [{ type: 'text', text: '3' }] }
  if (method === 'tools/list') return { tools: [TOOL] }
  if (method !== 'initialize') return undefined
  return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'bench', version: '1' } }
}

/** A call through `mcpTools` beside one of the SDK alone. */
export async function mcpWorkloads(): Promise<McpWorkloads> {
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(URL_OF_SERVER), { fetch: answer }))
  const handler = mcpTools({ servers: { it: { url: URL_OF_SERVER, trusted: true, prefix: '', fetch: answer } } })
  const config: AgentConfig = { instruction: '', tools: [], input: { messages: [] }, runOptions: {} }
  const ctx = createRunContext()
  await handler.beforeAgent?.(ctx, config)
  const tool = config.tools[0]?.tool as Tool
  const workload: Workload = {
    name: 'a call of an MCP tool, beside the SDK alone',
    unit: 'call',
    units: CALLS,
    async handWritten() {
      for (let i = 0; i < CALLS; i++) {
        const [first] = (await client.callTool({ name: 'add', arguments: ARGS })).content
        expectAnswer(first?.type === 'text' ? first.text : '')
      }
    },
    async troupe() {
      for (let i = 0; i < CALLS; i++) expectAnswer(await contentOf(tool, ctx))
    },
  }
  return {
    workloads: [workload],
    async [Symbol.asyncDispose]() {
      await client.close()
      await handler[Symbol.asyncDispose]()
    },
  }
}

async function contentOf(tool: Tool, ctx: ReturnType<typeof createRunContext>): Promise<string> {
  const chunks = tool.stream?.(ARGS, ctx, INPUT)[Symbol.asyncIterator]()
  let step = await chunks?.next()
  while (step && !step.done) step = await chunks?.next()
  return String((step?.value as { readonly content: string } | undefined)?.content)
}

function expectAnswer(text: string): void {
  if (text !== '3') throw new Error(`bench: expected 3, got ${text}`)
}
