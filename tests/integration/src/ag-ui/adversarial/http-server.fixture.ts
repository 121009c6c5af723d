import {
  type AgUiEvent,
  type AgUiHandler,
  type AgUiHandlerOptions,
  agUiHandler,
  type RunAgentInput,
} from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { runner } from '@troupe/flow'
import { type Agent, defineTool, type KernelError, type Store, type Tool } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'

/** A response that was read to its end. */
export interface Reply {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  /** The events of a stream. */
  readonly events: readonly AgUiEvent[]
  /** The ids of a stream's events. */
  readonly ids: readonly string[]
  /** The outcome of a stream or the code of its error; for another response the code of its JSON error. */
  readonly end: string | undefined
}

/** An agent behind a real HTTP server. */
export interface ServedAgent {
  readonly url: string
  readonly store: Store
  readonly handler: AgUiHandler
  readonly reports: KernelError[]
  /** Posts a run input, as Ann by default. */
  run(input: unknown, user?: string, headers?: Record<string, string>): Promise<Reply>
  call(method: string, path: string, user?: string, headers?: Record<string, string>): Promise<Reply>
  /** Posts a run input and returns the response as soon as its headers have arrived. */
  begin(input: unknown, user?: string): Promise<Response>
  /** Gets a path and returns the response as soon as its headers have arrived. */
  open(path: string, headers?: Record<string, string>): Promise<Response>
  [Symbol.asyncDispose](): Promise<void>
}

/** Serves an agent over real HTTP; the `authorization` header is the user. */
export async function serve(
  agent: Agent,
  options: Partial<AgUiHandlerOptions> & { readonly store?: Store } = {},
): Promise<ServedAgent> {
  const { store = memoryStore(), ...rest } = options
  const reports: KernelError[] = []
  const report = (error: KernelError) => void reports.push(error)
  const handler = agUiHandler({
    ...(!rest.agent && !rest.resolveRunner && { runner: runner({ agent, store, report }) }),
    store,
    appName: 'test',
    authenticate: ({ headers }) => {
      const user = headers.get('authorization')
      return user ? { user } : undefined
    },
    report,
    ...rest,
  } as AgUiHandlerOptions)
  const server = await agUiServer(handler)
  const fetchAs = (user: string | undefined, path: string, init: RequestInit) =>
    fetch(new URL(path, server.url), {
      ...init,
      headers: { ...(user && { authorization: user }), ...(init.headers as Record<string, string>) },
    })
  const begin = (input: unknown, user = 'ann', headers: Record<string, string> = {}) =>
    fetchAs(user, '/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof input === 'string' ? input : JSON.stringify(input),
    })
  return {
    url: server.url,
    store,
    handler,
    reports,
    begin,
    open: (path, headers = {}) => fetchAs('ann', path, { headers }),
    run: async (input, user, headers) => replyOf(await begin(input, user, headers)),
    call: async (method, path, user = 'ann', headers = {}) => replyOf(await fetchAs(user, path, { method, headers })),
    [Symbol.asyncDispose]: async () => {
      await server.stop(100)
    },
  }
}

export async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text()
  const lines = text.split('\n')
  const stream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const events = stream
    ? lines.filter((line) => line.startsWith('data:')).map((line) => JSON.parse(line.slice(5)) as AgUiEvent)
    : []
  const ids = stream ? lines.filter((line) => line.startsWith('id: ')).map((line) => line.slice(4)) : []
  return { status: response.status, text, headers: response.headers, events, ids, end: endOf(events, text) }
}

function endOf(events: readonly AgUiEvent[], text: string): string | undefined {
  const last = events.at(-1)
  if (last?.type === 'RUN_ERROR') return last.code
  if (last?.type === 'RUN_FINISHED') return last.outcome?.type
  try {
    return (JSON.parse(text) as { code?: string }).code
  } catch {
    return undefined
  }
}

export function typesOf({ events }: Reply): readonly string[] {
  return events.map(({ type }) => type)
}

let runs = 0

/** A run input with one user message. */
export function says(text: string, more: Partial<RunAgentInput> = {}): RunAgentInput {
  const runId = more.runId ?? `r${++runs}`
  const messages: RunAgentInput['messages'] = [{ id: `u-${runId}`, role: 'user', content: text }]
  return { threadId: 't1', runId, messages, tools: [], context: [], protocolVersion: '1.0', ...more }
}

/** A run input with tool results only. */
export function results(...pairs: readonly (readonly [call: string, content: string])[]): RunAgentInput {
  return {
    ...says(''),
    messages: pairs.map(([toolCallId, content], index) => ({
      id: `a${++runs}-${index}`,
      role: 'tool',
      toolCallId,
      content,
    })),
  }
}

/** A tool that counts, a tool that needs approval and a tool whose question expires, with the ids of the calls that ran. */
export function countedTools(): { readonly ran: string[]; readonly all: readonly Tool[] } {
  const ran: string[] = []
  const parameters = { type: 'object' } as const
  const count = defineTool({
    name: 'count',
    description: 'Counts.',
    parameters,
    invoke: (_, __, { callId }) => `ran ${ran.push(callId)}`,
  })
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters,
    needsApproval: () => true,
    invoke: (_, __, { callId }) => `paid ${ran.push(callId)}`,
  })
  const soon = defineTool({
    name: 'soon',
    description: 'Asks for a moment.',
    parameters,
    invoke: async (_, ctx) => String(await ctx.interrupt({ reason: 'input', expiresAt: ctx.clock.now() + 30 })),
  })
  return { ran, all: [count, pay, soon] }
}
