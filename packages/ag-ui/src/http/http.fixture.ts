import { EventType, type RunAgentInput } from '@ag-ui/core'
import { KernelError, type Owner, type Store, type ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { parseRunAgentInput } from '../input/parse-run-input.ts'
import type { AgUiEvent } from '../protocol.ts'
import type { AgUiRunOptions, ServedAgent } from '../run/served-agent.ts'
import { runError } from '../translate/run-error.ts'
import { type AgUiHandler, type AgUiHandlerOptions, agUiHandler } from './handler.ts'

export const ANN: Owner = { app: 'demo', user: 'ann' }
export const BOB: Owner = { app: 'demo', user: 'bob' }

/** What an agent of these tests says: events between RUN_STARTED and RUN_FINISHED. */
export type Speech = (input: RunAgentInput, options: { readonly signal: AbortSignal }) => AsyncIterable<AgUiEvent>

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

/** An agent of the shape of AgUiAgent, on the leases of a store, that says what a test wants. */
export function speaker(store: Store, speech: Speech): ServedAgent & { readonly started: string[] } {
  const started: string[] = []
  const local = new Map<string, AbortController>()
  async function* run(value: RunAgentInput, { owner = ANN, requestId, signal }: AgUiRunOptions = {}) {
    let input: RunAgentInput
    try {
      input = parseRunAgentInput(value)
    } catch (error) {
      yield runError(KernelError.from(error), { ...(requestId && { requestId }) })
      return
    }
    const { threadId, runId } = input
    const ref = { ...owner, threadId }
    let token: number
    try {
      token = (await store.leases.acquire(ref, { runId, ttlMs: 30_000 })).token
      await store.threads.open(ref)
    } catch (error) {
      yield runError({ code: KernelError.from(error).code, message: 'busy' })
      return
    }
    started.push(runId)
    const controller = new AbortController()
    local.set(keyOf(ref), controller)
    const stop = () => controller.abort(signal?.reason)
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop)
    let end: AgUiEvent = { type: EventType.RUN_FINISHED, threadId, runId, outcome: { type: 'success' } }
    try {
      yield { type: EventType.RUN_STARTED, threadId, runId } satisfies AgUiEvent
      for await (const event of speech(input, { signal: controller.signal })) {
        if (controller.signal.aborted) break
        yield event
      }
    } catch (error) {
      if (!controller.signal.aborted) throw error
    } finally {
      signal?.removeEventListener('abort', stop)
      local.delete(keyOf(ref))
      await store.leases.release(ref, token)
    }
    if (controller.signal.aborted) end = { ...end, outcome: { type: 'cancelled' } } as AgUiEvent
    yield end
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

function keyOf({ app, user, threadId }: ThreadRef): string {
  return JSON.stringify([app, user, threadId])
}

/** A handler whose visitors say in a header who they are. */
export function served(
  speech: Speech,
  options: Partial<AgUiHandlerOptions> & { readonly store?: Store } = {},
): {
  readonly handler: AgUiHandler
  readonly store: Store
  readonly agent: ReturnType<typeof speaker>
  readonly reported: KernelError[]
} {
  const store = options.store ?? memoryStore()
  const { hidden, ...rest } = options
  const agent = { ...speaker(store, speech), ...(hidden && { hidden }) }
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

/** The frames of a whole SSE body. */
export async function framesOf(response: Response): Promise<{ id: string | undefined; event: AgUiEvent }[]> {
  return parseFrames(await response.text())
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
