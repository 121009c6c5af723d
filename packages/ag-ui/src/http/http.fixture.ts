import { EventType, type RunAgentInput } from '@ag-ui/core'
import { KernelError, type Owner, type Store, type ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { parseRunAgentInput } from '../input/parse-run-agent-input.ts'
import { strict } from '../pipeline.fixture.ts'
import type { AgUiEvent } from '../protocol.ts'
import type { AgUiRunOptions, ServedAgent } from '../run/served-agent.ts'
import { runError } from '../translate/run-error.ts'
import { runWriter } from '../write/run-writer.ts'
import { type AgUiHandler, type AgUiHandlerOptions, agUiHandler } from './ag-ui-handler.ts'

export const ANN: Owner = { app: 'demo', user: 'ann' }
export const BOB: Owner = { app: 'demo', user: 'bob' }

/** The events of an agent between RUN_STARTED and RUN_FINISHED. */
export type Script = (input: RunAgentInput, options: { readonly signal: AbortSignal }) => AsyncIterable<AgUiEvent>

/** Words as a streamed message. */
export async function* words(count: number, text = 'word '): AsyncGenerator<AgUiEvent, void> {
  yield { type: EventType.TEXT_MESSAGE_START, messageId: 'm1', role: 'assistant' }
  for (let i = 0; i < count; i++) yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'm1', delta: text }
  yield { type: EventType.TEXT_MESSAGE_END, messageId: 'm1' }
}

/** Waits until the signal aborts. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
}

/** An agent of the shape of AgUiAgent, on the leases of a store, that writes the events of a script. */
export function scriptedAgent(store: Store, script: Script): ServedAgent & { readonly started: string[] } {
  const started: string[] = []
  const local = new Map<string, AbortController>()
  /** Takes the thread. Contract: gives the RUN_ERROR of a request that is refused. */
  async function take(value: RunAgentInput, owner: Owner, requestId: string | undefined) {
    let input: RunAgentInput
    try {
      input = parseRunAgentInput(value)
    } catch (error) {
      return runError(KernelError.from(error), { ...(requestId && { requestId }) })
    }
    const ref = { ...owner, threadId: input.threadId }
    try {
      const { token } = await store.leases.acquire(ref, { runId: input.runId, ttlMs: 30_000 })
      await store.threads.open(ref)
      return { input, ref, token }
    } catch (error) {
      return runError({ code: KernelError.from(error).code, message: 'busy' })
    }
  }
  async function* run(
    value: RunAgentInput,
    { owner = ANN, requestId, signal }: AgUiRunOptions = {},
  ): AsyncGenerator<AgUiEvent> {
    const writer = runWriter()
    const taken = await take(value, owner, requestId)
    if ('message' in taken) return yield taken
    const { input, ref, token } = taken
    const { threadId, runId } = input
    started.push(runId)
    const controller = new AbortController()
    local.set(keyOf(ref), controller)
    const stop = () => controller.abort(signal?.reason)
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop)
    try {
      yield* writer.write({ type: EventType.RUN_STARTED, threadId, runId })
      for await (const event of untilStopped(script(input, controller), controller.signal)) yield* writer.write(event)
    } finally {
      signal?.removeEventListener('abort', stop)
      local.delete(keyOf(ref))
      await store.leases.release(ref, token)
    }
    const outcome = { type: controller.signal.aborted ? 'cancelled' : 'success' } as const
    yield* writer.end({ type: EventType.RUN_FINISHED, threadId, runId, outcome })
  }
  return {
    started,
    run,
    async cancel(ref, runId) {
      local.get(keyOf(ref))?.abort(new KernelError('ABORTED', 'cancelled'))
      return store.leases.requestCancel(ref, { ...(runId !== undefined && { runId }) })
    },
  }
}

async function* untilStopped(events: AsyncIterable<AgUiEvent>, signal: AbortSignal): AsyncGenerator<AgUiEvent> {
  try {
    for await (const event of events) {
      if (signal.aborted) return
      yield event
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function keyOf({ app, user, threadId }: ThreadRef): string {
  return JSON.stringify([app, user, threadId])
}

/** A handler that takes the user from a header. */
export function served(
  script: Script,
  options: Partial<AgUiHandlerOptions> & { readonly store?: Store } = {},
): {
  readonly handler: AgUiHandler
  readonly store: Store
  readonly agent: ReturnType<typeof scriptedAgent>
  readonly reported: KernelError[]
} {
  const store = options.store ?? memoryStore()
  const { hidden, ...rest } = options
  const agent = { ...scriptedAgent(store, script), ...(hidden && { hidden }) }
  const reported: KernelError[] = []
  const handler = agUiHandler({
    agent,
    appName: 'demo',
    authenticate: ({ headers }) => {
      const user = headers.get('authorization')
      return user ? { user } : undefined
    },
    report: (error) => void reported.push(error),
    ...rest,
    store,
  })
  return { handler, store, agent, reported }
}

/** A run input with one user message. */
export function input(runId = 'r1', threadId = 't1', more: Partial<RunAgentInput> = {}): RunAgentInput {
  const messages: RunAgentInput['messages'] = [{ id: `u-${runId}`, role: 'user', content: 'Hi' }]
  return { threadId, runId, messages, tools: [], context: [], protocolVersion: '1.0', ...more }
}

/** A request of Ann's. */
export function post(body: unknown, headers: Record<string, string> = {}): Request {
  return new Request('http://localhost/', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'ann', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

export function get(path: string, headers: Record<string, string> = {}): Request {
  return new Request(`http://localhost${path}`, { headers: { authorization: 'ann', ...headers } })
}

/** The frames of a whole SSE body. Contract: fails at the first event that a correct stream never has, if it is read from its start. */
export async function framesOf(response: Response): Promise<{ id: string | undefined; event: AgUiEvent }[]> {
  const frames = parseFrames(await response.text())
  const [first] = frames
  if (first?.event.type === EventType.RUN_STARTED) {
    strict(
      frames.map(({ event }) => event),
      first.event.input?.messages,
    )
  }
  return frames
}

export function parseFrames(text: string): { id: string | undefined; event: AgUiEvent }[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.includes('data:'))
    .map((frame) => {
      const lines = frame.split('\n')
      const line = (name: string) => lines.find((text) => text.startsWith(name))?.slice(name.length)
      return { id: line('id: '), event: JSON.parse(line('data: ') ?? 'null') as AgUiEvent }
    })
}

export function typesOf(frames: readonly { readonly event: AgUiEvent }[]): string[] {
  return frames.map(({ event }) => event.type)
}
