import { type ChatModel, KernelError, type ModelPart, type ModelRequest } from '@troupe/kernel'

/** The answer that a user message asks for, as JSON. */
export interface AnswerSpec {
  readonly deltas: number
  /** Characters of a delta. @default 6 */
  readonly size?: number
  /** Deltas between two rounds of the event loop; 0 means none. @default 0 */
  readonly pause?: number
  /** Whether the model hangs after the deltas until it is aborted. */
  readonly hang?: boolean
  /** The name of a tool to call. */
  readonly call?: string
}

/** A model that gives the answer which its last user message asks for. */
export function answerModel(): ChatModel {
  return { name: 'answer', stream: (request, { signal }) => answer(request, signal) }
}

async function* answer({ messages }: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
  const spec = specOf(messages.findLast(({ role }) => role === 'user')?.content)
  const { deltas, size = 6, pause = 0, hang } = spec
  const delta = 'x'.repeat(size)
  for (let i = 0; i < deltas; i++) {
    if (pause > 0 && i % pause === 0) await nextRound()
    if (signal.aborted) break
    yield { type: 'text-delta', delta }
  }
  if (hang) await aborted(signal)
  if (signal.aborted) throw new KernelError('ABORTED', 'answer: aborted')
  const calls = messages.at(-1)?.role === 'tool' ? [] : callOf(spec)
  yield* calls
  const reason = calls.length > 0 ? 'tool-calls' : 'stop'
  yield { type: 'finish', reason, usage: { inputTokens: 1, outputTokens: deltas } }
}

function nextRound(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function callOf({ call: name }: AnswerSpec): readonly ModelPart[] {
  if (name === undefined) return []
  const callId = crypto.randomUUID()
  return [
    { type: 'tool-call-start', callId, name },
    { type: 'tool-call-delta', callId, delta: '{}' },
    { type: 'tool-call-end', callId },
  ]
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
}

function specOf(content: unknown): AnswerSpec {
  try {
    const spec: unknown = JSON.parse(String(content))
    return typeof spec === 'object' && spec !== null && 'deltas' in spec ? (spec as AnswerSpec) : { deltas: 1 }
  } catch {
    return { deltas: 1 }
  }
}
