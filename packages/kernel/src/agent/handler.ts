import type { RunContext } from '../context/context.ts'
import { checkHooks } from '../data/check-hooks.ts'
import type { RunResult } from '../data/event.ts'
import type { Awaitable } from '../data/json.ts'
import { got, isObject, KernelError } from '../data/kernel-error.ts'
import type { Message } from '../data/message.ts'
import type { AgentInput, RunOptions } from './agent.ts'
import type { ModelPart, ModelRequest } from './model.ts'
import type { InvokeTool, StreamTool, StreamToolCallResult, ToolCallInput, ToolCallResult, ToolMeta } from './tool.ts'

/** An extension of an agent. Contract: every hook optional and run forward; wraps nest, first registered outermost; a throwing hook ends the run with one `error` event that names handler and hook. */
export interface AgentHandler {
  readonly name: string
  /** Contract: once per run and per resume, before the model. */
  beforeAgent?(ctx: RunContext, config: AgentConfig): Awaitable<RunContext | void>
  /** Contract: before each model call; edits stay for the following iterations. */
  beforeModelRewriteHistory?(ctx: RunContext, messages: readonly Message[]): Awaitable<HistoryRewrite>
  /** Contract: after each model call, before `message-end`; the last message decides: tools or done. */
  afterModelRewriteHistory?(ctx: RunContext, messages: readonly Message[]): Awaitable<HistoryRewrite>
  /** Contract: a tool failure is `result.error`; anything thrown here ends the run. */
  wrapInvokableToolCall?(ctx: RunContext, input: ToolCallInput, next: InvokeTool): Promise<ToolCallResult>
  /** Contract: for tools with `stream`; a handler with only the other wrap is adapted, never bypassed. Leaving the stream of `next` stops the tool; if a wrap ends before it has read all of it, the rest is read and discarded, so that `result` settles. */
  wrapStreamableToolCall?(ctx: RunContext, input: ToolCallInput, next: StreamTool): Promise<StreamToolCallResult>
  /** Contract: wraps one model call with its retries; the parts that it yields replace those of the model. */
  wrapModelCall?(ctx: RunContext, request: ModelRequest, next: CallModel): AsyncIterable<ModelPart>
  /** Contract: once after each `beforeAgent` that was reached, whatever the outcome; its error does not replace an earlier one. */
  afterAgent?(ctx: RunContext, result: RunResult): Awaitable<void>
}

/** The remaining wraps of a model call and the call itself. */
export type CallModel = (ctx: RunContext, request: ModelRequest) => AsyncIterable<ModelPart>
/** New messages, new messages with a derived context, or nothing for unchanged. */
export type HistoryRewrite =
  | readonly Message[]
  | { readonly messages: readonly Message[]; readonly ctx: RunContext }
  | void

/** One run of one agent, for `beforeAgent` to change. Contract: a copy per run, mutable by design; additions are already in `instruction` and `tools`. */
export interface AgentConfig {
  instruction: string
  tools: ToolMeta[]
  input: Pick<AgentInput, 'messages'>
  runOptions: RunOptions
}

/** The hooks of a handler by name. */
export type HookName = Exclude<keyof AgentHandler, 'name'>

const ABSENT = Symbol.for('troupe.absentHook')

/**
 * Base class for handlers written as classes.
 * Contract: a hook inherited unchanged counts as absent.
 * @example class Timer extends BaseAgentHandler { constructor() { super('timer') } }
 */
export abstract class BaseAgentHandler implements Required<AgentHandler> {
  readonly name: string

  constructor(name: string) {
    if (typeof name !== 'string' || name === '') {
      throw new KernelError('CONFIG_INVALID', `handler: expected a name, ${got(name)}`)
    }
    this.name = name
  }

  beforeAgent(_ctx: RunContext, _config: AgentConfig): Awaitable<RunContext | void> {}

  beforeModelRewriteHistory(_ctx: RunContext, _messages: readonly Message[]): Awaitable<HistoryRewrite> {}

  afterModelRewriteHistory(_ctx: RunContext, _messages: readonly Message[]): Awaitable<HistoryRewrite> {}

  wrapInvokableToolCall(ctx: RunContext, input: ToolCallInput, next: InvokeTool): Promise<ToolCallResult> {
    return next(ctx, input)
  }

  wrapStreamableToolCall(ctx: RunContext, input: ToolCallInput, next: StreamTool): Promise<StreamToolCallResult> {
    return next(ctx, input)
  }

  wrapModelCall(ctx: RunContext, request: ModelRequest, next: CallModel): AsyncIterable<ModelPart> {
    return next(ctx, request)
  }

  afterAgent(_ctx: RunContext, _result: RunResult): Awaitable<void> {}
}
for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(BaseAgentHandler.prototype))) {
  if (name !== 'constructor') value[ABSENT] = true
}

/**
 * Returns a hook bound to its handler, or undefined if the handler does not have it.
 * Contract: throws `CONFIG_INVALID` for a handler without a name or with a hook that is not a function.
 * @example const before = handlers.flatMap((handler) => hookOf(handler, 'beforeAgent') ?? [])
 */
export function hookOf<H extends HookName>(handler: AgentHandler, hook: H): AgentHandler[H] {
  if (!isObject(handler) || typeof handler.name !== 'string' || handler.name === '') {
    throw new KernelError('CONFIG_INVALID', `handler: expected an object with a name, ${got(handler)}`)
  }
  const found: unknown = handler[hook]
  if (found === undefined) return undefined
  if (typeof found !== 'function') {
    throw new KernelError('CONFIG_INVALID', `handler ${handler.name}: ${hook} must be a function, ${got(found)}`)
  }
  return ABSENT in found ? undefined : found.bind(handler)
}

const HOOKS = Object.keys({
  beforeAgent: true,
  beforeModelRewriteHistory: true,
  afterModelRewriteHistory: true,
  wrapInvokableToolCall: true,
  wrapStreamableToolCall: true,
  wrapModelCall: true,
  afterAgent: true,
} satisfies Record<HookName, true>) as HookName[]

const ALIASES: Readonly<Record<string, HookName>> = {
  beforeChatModel: 'beforeModelRewriteHistory',
  afterChatModel: 'afterModelRewriteHistory',
  beforeTool: 'wrapInvokableToolCall',
  afterTool: 'wrapInvokableToolCall',
  beforeToolCall: 'wrapInvokableToolCall',
  afterToolCall: 'wrapInvokableToolCall',
  onStart: 'beforeAgent',
  onEnd: 'afterAgent',
  onFinish: 'afterAgent',
  onError: 'afterAgent',
}

/**
 * Checks a handler before an agent uses it.
 * Contract: throws `CONFIG_INVALID` for a handler without a name, with a hook that is not a function or that does not exist (`beforeModel`), and for one that has methods but no hook; methods that do not look like hooks are its own.
 * @example handlers.forEach(checkHandler)
 */
export function checkHandler(handler: AgentHandler): void {
  let hooks = 0
  for (const name of HOOKS) if (hookOf(handler, name)) hooks++
  checkHooks(`handler ${handler.name}`, handler, {
    known: HOOKS,
    looksLikeHook: LOOKS_LIKE_HOOK,
    aliases: ALIASES,
    hooks,
  })
}

const LOOKS_LIKE_HOOK = /^(?:(?:before|after|wrap)(?:[A-Z_]|$)|on[A-Z_])/
