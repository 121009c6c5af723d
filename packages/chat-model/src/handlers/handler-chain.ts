import {
  type AgentConfig,
  type AgentHandler,
  type CallModel,
  type HistoryRewrite,
  type InvokeTool,
  KernelError,
  type Message,
  type ModelPart,
  type PipeStream,
  type RunContext,
  type RunResult,
  type StreamTool,
  stream,
  type ToolCallResult,
} from '@troupe/kernel'
import { type HookName, hookOf, isPromise, pipe, sinkTo } from '@troupe/kernel/kit'
import { isHandlerError, isModelError, markHandlerError } from '../error-origin.ts'
import { isStop } from '../is-stop.ts'
import { resultProblem } from '../tools/result-problem.ts'
import { checkTools } from '../tools/toolbox.ts'
import { drainScope, withDrainedStream } from './drained-stream.ts'
import { asInvokableWrap, asStreamableWrap } from './wrap-adapters.ts'

/** The calls that all wraps are around. */
export interface Innermost {
  readonly invoke: InvokeTool
  readonly stream: StreamTool
  readonly callModel: CallModel
}

/** Called before each `beforeAgent` with the number of handlers reached, and their context. */
export type Reached = (handlers: number, ctx: RunContext) => void

/** A history and the context that goes with it. */
export interface Rewritten {
  readonly ctx: RunContext
  readonly messages: readonly Message[]
}

type Named<H extends HookName> = { readonly name: string; readonly hook: NonNullable<AgentHandler[H]> }

/** The handlers of one agent, compiled once; an absent hook costs nothing. */
export class HandlerChain implements Innermost {
  readonly invoke: InvokeTool
  readonly stream: StreamTool
  readonly callModel: CallModel
  /** Whether any handler has `beforeAgent` or `afterAgent`. */
  readonly hasAgentHooks: boolean
  readonly #agentHooks: readonly { before: Named<'beforeAgent'> | undefined; after: Named<'afterAgent'> | undefined }[]
  readonly #rewrites: Record<RewriteHook, readonly Named<RewriteHook>[]>

  constructor(handlers: readonly AgentHandler[], innermost: Innermost) {
    this.#agentHooks = handlers.map((handler) => ({
      before: named(handler, 'beforeAgent'),
      after: named(handler, 'afterAgent'),
    }))
    this.hasAgentHooks = this.#agentHooks.some(({ before, after }) => before ?? after)
    this.#rewrites = {
      beforeModelRewriteHistory: handlers.flatMap((handler) => named(handler, 'beforeModelRewriteHistory') ?? []),
      afterModelRewriteHistory: handlers.flatMap((handler) => named(handler, 'afterModelRewriteHistory') ?? []),
    }
    this.invoke = handlers.reduceRight(wrapInvoke, innermost.invoke)
    this.stream = handlers.reduceRight(wrapStream, innermost.stream)
    this.callModel = handlers.reduceRight(wrapModel, innermost.callModel)
  }

  /** Contract: runs forward and reports each handler to `reached`; only those get `afterAgent`. */
  async beforeAgent(ctx: RunContext, config: AgentConfig, reached: Reached): Promise<RunContext> {
    let current = ctx
    for (const [index, { before }] of this.#agentHooks.entries()) {
      reached(index + 1, current)
      if (!before) continue
      const returned = await callHook(current, before.name, 'beforeAgent', () => before.hook(current, config))
      if (returned !== undefined) current = checkContext(before.name, 'beforeAgent', returned)
      checkConfig(before.name, config)
    }
    return current
  }

  /** Contract: runs the hook of every handler that was reached, then throws the first error. */
  async afterAgent(ctx: RunContext, result: RunResult, reached: number): Promise<void> {
    let failed: { readonly error: unknown } | undefined
    for (const { after } of this.#agentHooks.slice(0, reached)) {
      try {
        if (after) await callHook(ctx, after.name, 'afterAgent', () => after.hook(ctx, result))
      } catch (error) {
        failed ??= { error }
      }
    }
    if (failed) throw failed.error
  }

  /** Whether any handler may change the history. */
  get rewritesAny(): boolean {
    return this.rewrites('beforeModelRewriteHistory') || this.rewrites('afterModelRewriteHistory')
  }

  /** Whether any handler has this hook. */
  rewrites(hook: RewriteHook): boolean {
    return this.#rewrites[hook].length > 0
  }

  /** Contract: runs forward; each hook gets the history of the one before; a hook that returns no promise is not awaited. */
  async rewrite(hook: RewriteHook, start: Rewritten): Promise<Rewritten> {
    let current = start
    for (const { name, hook: rewrite } of this.#rewrites[hook]) {
      let returned = callHook(current.ctx, name, hook, () => rewrite(current.ctx, current.messages))
      if (isPromise(returned)) returned = await returned
      current = rewritten(name, hook, returned, current)
    }
    return current
  }
}

type RewriteHook = 'beforeModelRewriteHistory' | 'afterModelRewriteHistory'

function rewritten(name: string, hook: HookName, returned: HistoryRewrite, before: Rewritten): Rewritten {
  if (returned === undefined) return before
  const messages: unknown = Array.isArray(returned) ? returned : (returned as { messages?: unknown } | null)?.messages
  if (!isHistory(messages, before.messages)) throw invalidReturn(name, hook, 'messages, { messages, ctx } or nothing')
  return { ctx: 'ctx' in returned ? checkContext(name, hook, returned.ctx) : before.ctx, messages }
}

/** Whether this is a history; messages of the history before are not checked again. */
function isHistory(messages: unknown, before: readonly Message[]): messages is readonly Message[] {
  return (
    Array.isArray(messages) && messages.every((message, i) => message === before[i] || ROLES.includes(message?.role))
  )
}

const ROLES: readonly unknown[] = ['system', 'user', 'assistant', 'tool']

function checkConfig(name: string, { instruction, tools, input, runOptions }: AgentConfig): void {
  const wrong = (what: string) => invalidReturn(name, 'beforeAgent', what)
  if (typeof instruction !== 'string') throw wrong('config.instruction to be text')
  if (!Array.isArray(tools) || !tools.every((meta) => meta?.tool?.name))
    throw wrong('config.tools to be a list of { tool, returnDirectly }')
  try {
    checkTools(tools)
  } catch (cause) {
    throw invalidReturn(name, 'beforeAgent', `valid config.tools: ${KernelError.from(cause).message}`)
  }
  if (!Array.isArray(input?.messages)) throw wrong('config.input.messages to be a list')
  if (typeof runOptions !== 'object' || runOptions === null) throw wrong('config.runOptions to be an object')
}

function named<H extends HookName>(handler: AgentHandler, hook: H): Named<H> | undefined {
  const found = hookOf(handler, hook)
  return found && { name: handler.name, hook: found }
}

function wrapInvoke(next: InvokeTool, handler: AgentHandler): InvokeTool {
  const invokable = hookOf(handler, 'wrapInvokableToolCall')
  const streamable = hookOf(handler, 'wrapStreamableToolCall')
  const wrap = invokable ?? (streamable && asInvokableWrap(streamable))
  if (!wrap) return next
  const hook = invokable ? 'wrapInvokableToolCall' : 'wrapStreamableToolCall'
  return async (ctx, input) =>
    checkResult(handler.name, hook, await callHook(ctx, handler.name, hook, () => wrap(ctx, input, next)))
}

function wrapStream(next: StreamTool, handler: AgentHandler): StreamTool {
  const streamable = hookOf(handler, 'wrapStreamableToolCall')
  const invokable = hookOf(handler, 'wrapInvokableToolCall')
  const wrap = streamable ?? (invokable && asStreamableWrap(invokable))
  if (!wrap) return next
  const hook = streamable ? 'wrapStreamableToolCall' : 'wrapInvokableToolCall'
  const rest = withDrainedStream(next)
  return async (ctx, input) => {
    const scope = drainScope(ctx)
    const call = await callHook(ctx, handler.name, hook, () => wrap(scope.ctx, input, rest))
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

function wrapModel(next: CallModel, handler: AgentHandler): CallModel {
  const wrap = hookOf(handler, 'wrapModelCall')
  if (!wrap) return next
  return (ctx, request) =>
    handlerStream(ctx, handler.name, 'wrapModelCall', () => wrap(ctx, request, next), untilFinish(handler.name))
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

/** Calls a hook. Contract: an error that it throws, now or later, names handler and hook. */
function callHook<T>(ctx: RunContext, name: string, hook: HookName, call: () => T): T {
  try {
    const returned = call()
    if (!isPromise(returned)) return returned
    return returned.then(undefined, (error: unknown) => {
      throw handlerError(ctx, name, hook, error)
    }) as T
  } catch (error) {
    throw handlerError(ctx, name, hook, error)
  }
}

function checkContext(name: string, hook: HookName, ctx: RunContext): RunContext {
  if (typeof ctx?.derive === 'function') return ctx
  throw invalidReturn(name, hook, 'a context or nothing')
}

function invalidReturn(name: string, hook: HookName, expected: string): KernelError {
  return namedError(name, hook, new Error(`expected ${expected}`))
}

/** Makes the run's error of what a hook threw. Contract: aborts, interrupts, timeouts and errors of the model or of another handler stay as they are. */
function handlerError(ctx: RunContext, handler: string, hook: HookName, cause: unknown): KernelError {
  if (!KernelError.is(cause)) return namedError(handler, hook, cause)
  const passes = cause.code === 'TIMEOUT' || isHandlerError(cause) || isModelError(cause) || isStop(cause, ctx)
  return passes ? cause : namedError(handler, hook, cause)
}

/** Adds handler and hook to an error. Contract: an error with a code of its own keeps it. */
function namedError(handler: string, hook: HookName, cause: unknown): KernelError {
  const prefix = `handler ${handler}: ${hook} failed, `
  return markHandlerError(KernelError.within(prefix, cause, 'HANDLER_FAILED', { handler, hook }))
}
