import type { Content, RunContext, ToolCallInput, ToolCallResult } from '@troupe/kernel'
import { abortScope } from '@troupe/kernel/kit'
import type { ServerCalls, ServerRequest } from '../call/server-calls.ts'

/** Makes a request that only reads, inside a tool call. */
export async function readRequest<T extends object>(
  calls: ServerCalls,
  ctx: RunContext,
  { idempotencyKey }: ToolCallInput,
  send: ServerRequest<T>['send'],
  contentOf: (value: T) => Content,
): Promise<ToolCallResult> {
  using scope = abortScope(ctx.signal)
  const { signal } = scope
  const request = { ctx, key: idempotencyKey, signal, once: false, onProgress: ignore, send }
  const performed = await calls.perform<T>(request)
  return 'lost' in performed ? performed.lost : { content: contentOf(performed.value) }
}

function ignore(): void {}
