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

export interface Reply {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  /** Of a stream. */
  readonly events: readonly AgUiEvent[]
  /** Of a stream. */
  readonly ids: readonly string[]
  /** How a stream ended: an outcome or the code of an error; else the code of a JSON error. */
  readonly end: string | undefined
}

export interface Served {
  readonly url: string
  readonly store: Store
  readonly handler: AgUiHandler
  readonly reports: KernelError[]
  /** Posts a run input as Ann, or somebody else. */
  run(input: unknown, user?: string, headers?: Record<string, string>): Promise<Reply>
  call(method: string, path: string, user?: string, headers?: Record<string, string>): Promise<Reply>
  /** Begins a request and gives the response as soon as there are headers. */
  begin(input: unknown, user?: string): Promise<Response>
  /** Begins to read: gives the response as soon as there are headers. */
  open(path: string, headers?: Record<string, string>): Promise<Response>
  [Symbol.asyncDispose](): Promise<void>
}

/** An agent over real HTTP, whose visitors say in a header who they are. */
export async function serve(
  agent: Agent,
  options: Partial<AgUiHandlerOptions> & { readonly store?: Store } = {},
): Promise<Served> {
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

/** A run input in which a user says something. */
export function says(text: string, more: Partial<RunAgentInput> = {}): RunAgentInput {
  const runId = more.runId ?? `r${++runs}`
  const messages: RunAgentInput['messages'] = [{ id: `u-${runId}`, role: 'user', content: text }]
  return { threadId: 't1', runId, messages, tools: [], context: [], protocolVersion: '1.0', ...more }
}

/** A run input that brings results and nothing else. */
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

/** A tool that counts, one that waits for approval, one that asks for a moment; and the calls that ran. */
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
