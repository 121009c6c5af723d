import { type AgUiHandler, type AgUiHandlerOptions, agUiHandler } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { type RunnerOptions, runner } from '@troupe/flow'
import { type ChatModel, KernelError, type ModelPart, type Store } from '@troupe/kernel'

/** What a user message asks of the talker, as JSON. */
export interface Wish {
  readonly deltas: number
  /** Characters of a delta. @default 6 */
  readonly size?: number
  /** Deltas between two turns of the event loop; 0 is none. @default 0 */
  readonly pause?: number
  /** Goes on until it is stopped. */
  readonly hang?: boolean
  /** Calls a tool of this name. */
  readonly call?: string
}

/** A model that says as much as its last user message asks for. */
export function talker(): ChatModel {
  return {
    name: 'talker',
    async *stream({ messages }, { signal }): AsyncGenerator<ModelPart> {
      const answered = messages.at(-1)?.role === 'tool'
      const last = messages.findLast(({ role }) => role === 'user')?.content
      const { deltas, size = 6, pause = 0, hang, call } = wishOf(last)
      const delta = 'x'.repeat(size)
      for (let i = 0; i < deltas; i++) {
        if (pause > 0 && i % pause === 0) await new Promise((resolve) => setImmediate(resolve))
        if (signal.aborted) break
        yield { type: 'text-delta', delta }
      }
      if (hang && !signal.aborted)
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      if (signal.aborted) throw new KernelError('ABORTED', 'talker: stopped')
      if (call !== undefined && !answered) {
        const callId = crypto.randomUUID()
        yield { type: 'tool-call-start', callId, name: call }
        yield { type: 'tool-call-delta', callId, delta: '{}' }
        yield { type: 'tool-call-end', callId }
      }
      yield {
        type: 'finish',
        reason: call !== undefined && !answered ? 'tool-calls' : 'stop',
        usage: { inputTokens: 1, outputTokens: deltas },
      }
    },
  }
}

function wishOf(content: unknown): Wish {
  try {
    const wish: unknown = JSON.parse(String(content))
    return typeof wish === 'object' && wish !== null && 'deltas' in wish ? (wish as Wish) : { deltas: 1 }
  } catch {
    return { deltas: 1 }
  }
}

/** The talker behind HTTP; whoever names himself is believed. */
export function talkerHandler(
  store: Store,
  options: Partial<AgUiHandlerOptions> = {},
  limits: NonNullable<RunnerOptions['limits']> = {},
): AgUiHandler {
  const agent = chatModelAgent({ name: 'Talker', model: talker(), instruction: 'Talk.' })
  return agUiHandler({
    runner: runner({ agent, store, limits }),
    store,
    appName: 'load',
    authenticate: ({ headers }) => ({ user: headers.get('authorization') ?? 'ann' }),
    maxConcurrentExecutions: 1_000,
    ...options,
  })
}

/** A run input that asks for so many words. */
export function asking(threadId: string, runId: string, wish: Wish): string {
  return JSON.stringify({
    threadId,
    runId,
    protocolVersion: '1.0',
    messages: [{ id: `u-${runId}`, role: 'user', content: JSON.stringify(wish) }],
    tools: [],
    context: [],
  })
}
