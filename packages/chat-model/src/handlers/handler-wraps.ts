import {
  type AgentHandler,
  type CallModel,
  type InvokeTool,
  type ModelPart,
  type PipeStream,
  type RunContext,
  type StreamTool,
  stream,
  type ToolCallResult,
} from '@troupe/kernel'
import { type HookName, hookOf, isPromise, pipe, sinkTo } from '@troupe/kernel/kit'
import { askingContext } from '@troupe/kernel/run'
import { limitedResult } from '../tools/result-length.ts'
import { resultProblem } from '../tools/result-problem.ts'
import { callHook, handlerError, invalidReturn } from './call-hook.ts'
import { drainScope, withDrainedStream } from './drained-stream.ts'
import { asInvokableWrap, asStreamableWrap } from './wrap-adapters.ts'

/** Puts the `wrapModelCall` of each handler around a model call; the first handler is outermost. */
export function wrapModelCall(handlers: readonly AgentHandler[], innermost: CallModel): CallModel {
  return handlers.reduceRight(wrapModel, innermost)
}

/** Puts the tool wraps of each handler around the call of a tool without a stream; the first handler is outermost. */
export function wrapInvoke(
  handlers: readonly AgentHandler[],
  innermost: InvokeTool,
  maxResultChars: number,
): InvokeTool {
  if (!hasAny(handlers, 'wrapInvokableToolCall', 'wrapStreamableToolCall')) return innermost
  const own: InvokeTool = (ctx, input) => innermost(toolContext(ctx), input)
  const wrapped = handlers.reduceRight<InvokeTool>(wrapInvokeOnce, own)
  return async (ctx, input) => limitedResult(input.name, await wrapped(ctx, input), maxResultChars)
}

/** Puts the tool wraps of each handler around the call of a streaming tool; the first handler is outermost. */
export function wrapStream(
  handlers: readonly AgentHandler[],
  innermost: StreamTool,
  maxResultChars: number,
): StreamTool {
  if (!hasAny(handlers, 'wrapInvokableToolCall', 'wrapStreamableToolCall')) return innermost
  const own: StreamTool = (ctx, input) => innermost(toolContext(ctx), input)
  const wrapped = handlers.reduceRight<StreamTool>(wrapStreamOnce, own)
  return async (ctx, input) => {
    const { stream: chunks, result } = await wrapped(ctx, input)
    return { stream: chunks, result: result.then((value) => limitedResult(input.name, value, maxResultChars)) }
  }
}

/** Whether any handler has one of these hooks. */
export function hasAny(handlers: readonly AgentHandler[], ...hooks: readonly HookName[]): boolean {
  return handlers.some((handler) => hooks.some((hook) => hookOf(handler, hook)))
}

/** The context of a tool inside the wraps: it asks for itself. */
function toolContext(ctx: RunContext): RunContext {
  return askingContext(ctx, '')
}

function wrapModel(next: CallModel, handler: AgentHandler): CallModel {
  const wrap = hookOf(handler, 'wrapModelCall')
  if (!wrap) return next
  const { name } = handler
  let last = { step: '', asker: '' }
  return (ctx, request) => {
    const { step } = request
    if (last.step !== step) last = { step, asker: `${name}/wrapModelCall/${step}` }
    const asking = askingContext(ctx, last.asker)
    return handlerStream(ctx, name, 'wrapModelCall', () => wrap(asking, request, next), untilFinish(name))
  }
}

function wrapInvokeOnce(next: InvokeTool, handler: AgentHandler): InvokeTool {
  const invokable = hookOf(handler, 'wrapInvokableToolCall')
  const streamable = hookOf(handler, 'wrapStreamableToolCall')
  const wrap = invokable ?? (streamable && asInvokableWrap(streamable))
  if (!wrap) return next
  const hook = invokable ? 'wrapInvokableToolCall' : 'wrapStreamableToolCall'
  const asker = `${handler.name}/${hook}`
  return async (ctx, input) => {
    const asking = askingContext(ctx, asker)
    return checkResult(handler.name, hook, await callHook(ctx, handler.name, hook, () => wrap(asking, input, next)))
  }
}

function wrapStreamOnce(next: StreamTool, handler: AgentHandler): StreamTool {
  const streamable = hookOf(handler, 'wrapStreamableToolCall')
  const invokable = hookOf(handler, 'wrapInvokableToolCall')
  const wrap = streamable ?? (invokable && asStreamableWrap(invokable))
  if (!wrap) return next
  const hook = streamable ? 'wrapStreamableToolCall' : 'wrapInvokableToolCall'
  const asker = `${handler.name}/${hook}`
  const rest = withDrainedStream(next)
  return async (ctx, input) => {
    const scope = drainScope(ctx)
    const asking = askingContext(scope.ctx, asker)
    const call = await callHook(ctx, handler.name, hook, () => wrap(asking, input, rest))
    if (!call?.stream || !isPromise(call.result)) throw invalidReturn(handler.name, hook, '{ stream, result }')
    const result = callHook(ctx, handler.name, hook, () => call.result).then((value) =>
      checkResult(handler.name, hook, value),
    )
    // The reader of the stream gets this error first.
    result.catch(() => undefined)
    return { stream: handlerStream(ctx, handler.name, hook, () => scope.drainAfter(call.stream)), result }
  }
}

function checkResult(name: string, hook: HookName, result: ToolCallResult): ToolCallResult {
  const expected = resultProblem(result)
  if (expected !== undefined) throw invalidReturn(name, hook, expected)
  return result
}

/** Contract: parts after `finish` are discarded, as those of a model are, unless `restart` takes the answer back. */
function untilFinish(name: string): (part: ModelPart) => boolean {
  let finished = false
  return (part) => {
    if (typeof part?.type !== 'string') throw invalidReturn(name, 'wrapModelCall', 'parts of an answer')
    if (finished && part.type !== 'restart') return false
    finished = part.type === 'finish'
    return true
  }
}

/** The stream of a handler. Contract: an error in it names handler and hook. */
function handlerStream<T>(
  ctx: RunContext,
  name: string,
  hook: HookName,
  open: () => AsyncIterable<T>,
  passes: (value: T) => boolean = () => true,
): PipeStream<T> {
  return stream(async (sink) => {
    try {
      await pipe(
        open(),
        sinkTo(sink, (value: T) => (passes(value) ? sink.write(value) : undefined)),
      )
    } catch (error) {
      // After the reader has left, the error is a consequence of leaving.
      throw sink.closed ? error : handlerError(ctx, name, hook, error)
    }
  })
}
