import {
  type AgentHandler,
  type Part,
  pipe,
  type StreamToolCallResult,
  stream,
  type ToolCallResult,
} from '@troupe/kernel'

type InvokableWrap = NonNullable<AgentHandler['wrapInvokableToolCall']>
type StreamableWrap = NonNullable<AgentHandler['wrapStreamableToolCall']>

/** A streamable wrap that does for a stream what the invokable one does for a result: chunks pass as they come. */
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

/** An invokable wrap that does for a result what the streamable one does for a stream: the result is a stream of nothing. */
export function asInvokableWrap(wrap: StreamableWrap): InvokableWrap {
  return async (ctx, input, next) => {
    const call = await wrap(ctx, input, async (innerCtx, innerInput) => silent(next(innerCtx, innerInput)))
    for await (const _ of call.stream);
    return call.result
  }
}

function silent(result: Promise<ToolCallResult>): StreamToolCallResult {
  result.catch(() => undefined)
  return {
    stream: stream(async () => {
      await result
    }),
    result,
  }
}
