import { type AgentHandler, type Part, type StreamToolCallResult, stream, type ToolCallResult } from '@troupe/kernel'
import { isPromise, pipe } from '@troupe/kernel/kit'

type InvokableWrap = NonNullable<AgentHandler['wrapInvokableToolCall']>
type StreamableWrap = NonNullable<AgentHandler['wrapStreamableToolCall']>

/** Adapts an invokable wrap to streaming tools: chunks pass unchanged, the wrap sees the result. */
export function asStreamableWrap(wrap: InvokableWrap): StreamableWrap {
  return async (ctx, input, next) => {
    const { promise: result, resolve, reject } = Promise.withResolvers<ToolCallResult>()
    const chunks = stream<string | Part>(async (sink) => {
      try {
        resolve(
          await wrap(ctx, input, async (innerCtx, innerInput) => {
            const inner = await next(innerCtx, innerInput)
            await pipe(inner.stream, sink)
            return inner.result
          }),
        )
      } catch (error) {
        reject(error)
        throw error
      }
    })
    result.catch(() => undefined)
    return { stream: chunks, result }
  }
}

/** Adapts a streamable wrap to invokable tools: the wrap gets an empty stream and the result. */
export function asInvokableWrap(wrap: StreamableWrap): InvokableWrap {
  return async (ctx, input, next) => {
    const call = await wrap(ctx, input, async (innerCtx, innerInput) => emptyStream(next(innerCtx, innerInput)))
    // If the stream fails, the result is not awaited.
    if (isPromise(call?.result)) call.result.then(undefined, () => undefined)
    for await (const _ of call.stream);
    return call.result
  }
}

function emptyStream(result: Promise<ToolCallResult>): StreamToolCallResult {
  result.catch(() => undefined)
  return {
    stream: stream(async () => {
      await result
    }),
    result,
  }
}
