import type { AgentHandler, CallModel, ModelPart, ModelRequest, RunContext } from '@troupe/kernel'
import { stream } from '@troupe/kernel'
import { user } from './handlers.fixture.ts'

export const REQUEST: ModelRequest = {
  instruction: 'Help.',
  messages: [user('u1', 'Hello there')],
  tools: [],
  options: {},
  step: 'model:0',
  idempotencyKey: 'k',
}

/** The end of an answer that used 10 tokens. */
export const FINISH: ModelPart = {
  type: 'finish',
  reason: 'stop',
  usage: { inputTokens: 7, outputTokens: 3 },
  model: 'test:1',
}

/** A model that gives these parts, and then fails if there is an error. */
export function answer(parts: readonly ModelPart[], error?: unknown): CallModel {
  return () =>
    stream(async (sink) => {
      for (const part of parts) await sink.write(part)
      if (error) throw error
    })
}

/** Text in pieces, and the end of the answer. */
export function saying(...pieces: readonly string[]): CallModel {
  return answer([...pieces.map((delta) => ({ type: 'text-delta', delta }) as const), FINISH])
}

/** What comes out of a handler around a model call. */
export async function ask(
  handler: AgentHandler,
  ctx: RunContext,
  next: CallModel,
  request: ModelRequest = REQUEST,
): Promise<readonly ModelPart[]> {
  const parts: ModelPart[] = []
  for await (const part of handler.wrapModelCall?.(ctx, request, next) ?? next(ctx, request)) parts.push(part)
  return parts
}
