import { type ContextKey, contextKey, type RunContext } from '../context/context.ts'
import { mapStream } from '../stream/stream.ts'
import type { AgentHandler, CallModel } from './handler.ts'
import type { ChatModel, ModelPart } from './model.ts'

/** What a handler does around a call of a model. */
export type WrapModelCall = NonNullable<AgentHandler['wrapModelCall']>

const WRAPS: ContextKey<readonly WrapModelCall[]> = contextKey('troupe.ownCalls')

/**
 * Lets a handler wrap the model calls that other handlers make by themselves, such as summaries, for example to count them.
 * Contract: for `beforeAgent`; gives the context with it; a wrap counts once, the first is the outermost, and agents nested in the run have it too.
 */
export function wrapOwnCalls(ctx: RunContext, wrap: WrapModelCall): RunContext {
  const wraps = ctx.get(WRAPS) ?? []
  return wraps.includes(wrap) ? ctx : ctx.with(WRAPS, [...wraps, wrap])
}

/**
 * Makes a call of a model for a handler itself, and not for its agent, such as a summary: limits count it.
 * Contract: its last part names the model.
 * @example const parts = callModel(model)(ctx, { ...request, instruction: 'Summarise.' })
 */
export function callModel(model: ChatModel): CallModel {
  const named = (part: ModelPart): ModelPart => (part.type === 'finish' ? { model: model.name, ...part } : part)
  const call: CallModel = (ctx, request) => mapStream(model.stream(request, { signal: ctx.signal }), named)
  return (ctx, request) => {
    const wrapped = (ctx.get(WRAPS) ?? []).reduceRight<CallModel>(
      (next, wrap) => (ctx, request) => wrap(ctx, request, next),
      call,
    )
    return wrapped(ctx, request)
  }
}
