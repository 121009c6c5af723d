import {
  type AgentConfig,
  type AgentHandler,
  type CallModel,
  type HistoryRewrite,
  type HookName,
  hookOf,
  type InvokeTool,
  isPromise,
  KernelError,
  type Message,
  type ModelPart,
  type PipeStream,
  pipe,
  type RunContext,
  type RunResult,
  type StreamTool,
  sinkTo,
  stream,
  type ToolCallResult,
} from '@troupe/kernel'
import { isModelError } from '../model/model-error.ts'
import { isStop } from '../stop.ts'
import { wrongResult } from '../tools/tool-call.ts'
import { checkTools } from '../tools/toolbox.ts'
import { isHandlerError, markHandlerError } from './handler-error.ts'
import { borrowing, lending } from './lent-stream.ts'
import { asInvokableWrap, asStreamableWrap } from './wrap-adapters.ts'

/** What stands inside all wraps. */
export interface Innermost {
  readonly invoke: InvokeTool
  readonly stream: StreamTool
  readonly callModel: CallModel
}

/** Hears how many handlers had their turn before the agent, and with which context. */
export type Reached = (handlers: number, ctx: RunContext) => void

/** A history and the context that goes with it. */
export interface Rewritten {
  readonly ctx: RunContext
  readonly messages: readonly Message[]
}

type Named<H extends HookName> = { readonly name: string; readonly hook: NonNullable<AgentHandler[H]> }

/** The handlers of one agent, compiled once: hooks that are absent are not here at all. */
export class HandlerChain implements Innermost {
  readonly invoke: InvokeTool
  readonly stream: StreamTool
  readonly callModel: CallModel
  /** Whether anything happens before or after the agent. */
  readonly framesAgent: boolean
  readonly #frames: readonly { before: Named<'beforeAgent'> | undefined; after: Named<'afterAgent'> | undefined }[]
  readonly #rewrites: Record<RewriteHook, readonly Named<RewriteHook>[]>

  constructor(handlers: readonly AgentHandler[], innermost: Innermost) {
    this.#frames = handlers.map((handler) => ({
      before: named(handler, 'beforeAgent'),
      after: named(handler, 'afterAgent'),
    }))
    this.framesAgent = this.#frames.some(({ before, after }) => before ?? after)
    this.#rewrites = {
      beforeModelRewriteHistory: handlers.flatMap((handler) => named(handler, 'beforeModelRewriteHistory') ?? []),
      afterModelRewriteHistory: handlers.flatMap((handler) => named(handler, 'afterModelRewriteHistory') ?? []),
    }
    this.invoke = handlers.reduceRight(wrapInvoke, innermost.invoke)
    this.stream = handlers.reduceRight(wrapStream, innermost.stream)
    this.callModel = handlers.reduceRight(wrapModel, innermost.callModel)
  }

  /** Contract: forward; tells how far it came, so that `afterAgent` is owed to those alone. */
  async beforeAgent(ctx: RunContext, config: AgentConfig, reached: Reached): Promise<RunContext> {
    let current = ctx
    for (const [index, { before }] of this.#frames.entries()) {
      reached(index + 1, current)
      if (!before) continue
      const returned = await attempt(current, before.name, 'beforeAgent', () => before.hook(current, config))
      if (returned !== undefined) current = checkContext(before.name, 'beforeAgent', returned)
      checkConfig(before.name, config)
    }
    return current
  }

  /** Contract: every hook that is owed runs; the first error of theirs comes out at the end. */
  async afterAgent(ctx: RunContext, result: RunResult, reached: number): Promise<void> {
    let failed: { readonly error: unknown } | undefined
    for (const { after } of this.#frames.slice(0, reached)) {
      try {
        if (after) await attempt(ctx, after.name, 'afterAgent', () => after.hook(ctx, result))
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

  /** Contract: forward; each hook gets what the one before made; one that does not wait is not awaited. */
  async rewrite(hook: RewriteHook, start: Rewritten): Promise<Rewritten> {
    let current = start
    for (const { name, hook: rewrite } of this.#rewrites[hook]) {
      let returned = attempt(current.ctx, name, hook, () => rewrite(current.ctx, current.messages))
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
  if (!isHistory(messages, before.messages)) throw nonsense(name, hook, 'messages, { messages, ctx } or nothing')
  return { ctx: 'ctx' in returned ? checkContext(name, hook, returned.ctx) : before.ctx, messages }
}

/** Whether this is a history; what the history before had is not looked at again. */
function isHistory(messages: unknown, before: readonly Message[]): messages is readonly Message[] {
  return (
    Array.isArray(messages) && messages.every((message, i) => message === before[i] || ROLES.includes(message?.role))
  )
}

const ROLES: readonly unknown[] = ['system', 'user', 'assistant', 'tool']

function checkConfig(name: string, { instruction, tools, input, runOptions }: AgentConfig): void {
  const wrong = (what: string) => nonsense(name, 'beforeAgent', what)
  if (typeof instruction !== 'string') throw wrong('config.instruction to be text')
  if (!Array.isArray(tools) || !tools.every((meta) => meta?.tool?.name))
    throw wrong('config.tools to be a list of { tool, returnDirectly }')
  try {
    checkTools(tools)
  } catch (cause) {
    throw nonsense(name, 'beforeAgent', `config.tools to be sound: ${KernelError.from(cause).message}`)
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
    checkResult(handler.name, hook, await attempt(ctx, handler.name, hook, () => wrap(ctx, input, next)))
}

function wrapStream(next: StreamTool, handler: AgentHandler): StreamTool {
  const streamable = hookOf(handler, 'wrapStreamableToolCall')
  const invokable = hookOf(handler, 'wrapInvokableToolCall')
  const wrap = streamable ?? (invokable && asStreamableWrap(invokable))
  if (!wrap) return next
  const hook = streamable ? 'wrapStreamableToolCall' : 'wrapInvokableToolCall'
  const rest = lending(next)
  return async (ctx, input) => {
    const borrowed = borrowing(ctx)
    const call = await attempt(ctx, handler.name, hook, () => wrap(borrowed.ctx, input, rest))
    if (!call?.stream || !isPromise(call.result)) throw nonsense(handler.name, hook, '{ stream, result }')
    const result = attempt(ctx, handler.name, hook, () => call.result).then((value) =>
      checkResult(handler.name, hook, value),
    )
    // Whoever reads the stream hears of the failure first.
    result.catch(() => undefined)
    return { stream: guarded(ctx, handler.name, hook, () => borrowed.whole(call.stream)), result }
  }
}

function checkResult(name: string, hook: HookName, result: ToolCallResult): ToolCallResult {
  const wrong = wrongResult(result)
  if (wrong !== undefined) throw nonsense(name, hook, wrong)
  return result
}

function wrapModel(next: CallModel, handler: AgentHandler): CallModel {
  const wrap = hookOf(handler, 'wrapModelCall')
  if (!wrap) return next
  return (ctx, request) =>
    guarded(ctx, handler.name, 'wrapModelCall', () => wrap(ctx, request, next), oneAnswer(handler.name))
}

/** Contract: as with a model, nothing belongs to an answer after its `finish`, unless it is taken back. */
function oneAnswer(name: string): (part: ModelPart) => boolean {
  let finished = false
  return (part) => {
    if (typeof part?.type !== 'string') throw nonsense(name, 'wrapModelCall', 'parts of an answer')
    if (finished && part.type !== 'restart') return false
    finished = part.type === 'finish'
    return true
  }
}

/** A stream that a handler gives; what fails in it names handler and hook. */
function guarded<T>(
  ctx: RunContext,
  name: string,
  hook: HookName,
  open: () => AsyncIterable<T>,
  counts: (value: T) => boolean = () => true,
): PipeStream<T> {
  return stream(async (sink) => {
    try {
      await pipe(
        open(),
        sinkTo(sink, (value: T) => (counts(value) ? sink.write(value) : undefined)),
      )
    } catch (error) {
      // Who has left hears nothing any more, and what broke off for it is nobody's fault.
      throw sink.closed ? error : handlerError(ctx, name, hook, error)
    }
  })
}

/** Calls a hook; what it throws, now or later, names handler and hook. */
function attempt<T>(ctx: RunContext, name: string, hook: HookName, call: () => T): T {
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
  throw nonsense(name, hook, 'a context or nothing')
}

function nonsense(name: string, hook: HookName, expected: string): KernelError {
  return failed(name, hook, new Error(`expected ${expected}`))
}

/** What a hook threw as the run's error; aborts, questions, limits of time and failures of the model or of another handler pass as they are. */
function handlerError(ctx: RunContext, handler: string, hook: HookName, cause: unknown): KernelError {
  if (!KernelError.is(cause)) return failed(handler, hook, cause)
  const passes = cause.code === 'TIMEOUT' || isHandlerError(cause) || isModelError(cause) || isStop(cause, ctx)
  return passes ? cause : failed(handler, hook, cause)
}

/** Contract: an error with a code of its own keeps it; handler and hook are added. */
function failed(handler: string, hook: HookName, cause: unknown): KernelError {
  const prefix = `handler ${handler}: ${hook} failed, `
  return markHandlerError(KernelError.within(prefix, cause, 'HANDLER_FAILED', { handler, hook }))
}
