import {
  KernelError,
  type Message,
  type ModelPart,
  type ModelRequest,
  type StreamToolCallResult,
  type Tool,
  type ToolCallInput,
} from '@troupe/kernel'

/** The tool of the agent that is handled. */
export const ECHO: Tool = {
  name: 'echo',
  description: 'Gives back what it gets.',
  parameters: { type: 'object', properties: { text: { type: 'string' } } },
  kind: 'think',
  effect: 'pure',
  invoke: () => 'echo',
}

/** A question, a call with its result, and an answer. */
export const HISTORY: readonly Message[] = [
  { id: 'm1', role: 'user', content: 'Say it again.' },
  { id: 'm2', role: 'assistant', content: '', toolCalls: [{ id: 'c0', name: 'echo', arguments: '{"text":"it"}' }] },
  { id: 'm3', role: 'tool', callId: 'c0', name: 'echo', content: 'it' },
  { id: 'm4', role: 'assistant', content: 'It.' },
]

/** The request of a model call. */
export const REQUEST: ModelRequest = {
  instruction: '',
  messages: HISTORY,
  tools: [],
  options: {},
  step: 'model:0',
  idempotencyKey: 'k',
}

/** A call of the tool. */
export function callOf(callId: string, text: string = callId): ToolCallInput {
  const step = `tool:0:${callId}`
  return { name: 'echo', arguments: JSON.stringify({ text }), callId, step, idempotencyKey: callId, tool: ECHO }
}

/** An error that stops a call. */
export function stop(code: string): KernelError {
  return new KernelError(code, 'test: stop')
}

/** A call that streams. Contract: its result comes when the stream has ended or was left. */
export function streamOf(...chunks: readonly string[]): StreamToolCallResult {
  const { promise: result, resolve } = Promise.withResolvers<{ content: string }>()
  const text = async function* () {
    try {
      yield* chunks
    } finally {
      resolve({ content: chunks.join('') })
    }
  }
  return { stream: text(), result }
}

/** A call that streams and is stopped. */
export function failingStream(error: KernelError): StreamToolCallResult {
  const result = Promise.reject(error)
  result.catch(() => undefined)
  const chunks = async function* () {
    yield 'a'
    throw error
  }
  return { stream: chunks(), result }
}

/** The answer of a model. */
export async function* answer(text = 'It'): AsyncGenerator<ModelPart> {
  yield { type: 'text-delta', delta: text }
  yield { type: 'text-delta', delta: '.' }
  yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
}

/** Reads to the end. */
export async function drain(source: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of source);
}
