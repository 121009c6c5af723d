import type { RunContext } from '../context/context.ts'
import type { Awaitable } from '../data/json.ts'
import { got, isObject, KernelError } from '../data/kernel-error.ts'
import type { AgentHandler } from './handler.ts'
import type { Tool, ToolMeta } from './tool.ts'
import { checkNames, toolMetas } from './tool-metas.ts'

/** The return value of a `with…Func` helper: the new value, or the value with a derived context. */
export type Changed<T> = T | { readonly value: T; readonly ctx: RunContext }

/**
 * Appends to the instruction, after a blank line.
 * @example withInstruction('Be concise.')
 */
export function withInstruction(text: string): AgentHandler {
  if (typeof text !== 'string') throw new KernelError('CONFIG_INVALID', `withInstruction: expected text, ${got(text)}`)
  return {
    name: 'withInstruction',
    beforeAgent(_ctx, config) {
      config.instruction = config.instruction === '' ? text : `${config.instruction}\n\n${text}`
    },
  }
}

/**
 * Replaces the instruction with one computed from it.
 * @example withInstructionFunc((ctx, instruction) => `${instruction}\nThe user is ${ctx.session.user}.`)
 */
export function withInstructionFunc(
  fn: (ctx: RunContext, instruction: string) => Awaitable<Changed<string>>,
): AgentHandler {
  const isText = (value: unknown) => typeof value === 'string'
  return {
    name: 'withInstructionFunc',
    beforeAgent: (ctx, config) =>
      whenKnown(fn(ctx, config.instruction), (result) => {
        const changed = unpack(result, isText, 'withInstructionFunc: expected a string')
        config.instruction = changed.value
        return changed.ctx
      }),
  }
}

/**
 * Appends tools.
 * Contract: a name that the agent has already ends the run with `CONFIG_INVALID`; to replace a tool use `withToolsFunc`.
 * @example withTools(weather, { tool: finalAnswer, returnDirectly: true })
 */
export function withTools(...tools: readonly (Tool | ToolMeta)[]): AgentHandler {
  const added = toolMetas(tools)
  return {
    name: 'withTools',
    beforeAgent(_ctx, config) {
      config.tools = config.tools.concat(added)
      checkNames(config.tools)
    },
  }
}

/**
 * Replaces the tools with a list computed from them: to remove, replace or change tools.
 * @example withToolsFunc((ctx, tools) => tools.filter(({ tool }) => tool.kind === 'read'))
 */
export function withToolsFunc(
  fn: (ctx: RunContext, tools: readonly ToolMeta[]) => Awaitable<Changed<readonly ToolMeta[]>>,
): AgentHandler {
  return {
    name: 'withToolsFunc',
    beforeAgent: (ctx, config) =>
      whenKnown(fn(ctx, config.tools), (result) => {
        const changed = unpack(result, Array.isArray, 'withToolsFunc: expected a list of tools')
        checkNames(changed.value)
        config.tools = changed.value.slice()
        return changed.ctx
      }),
  }
}

/**
 * A handler of one hook: changes instruction, tools, input and options before the agent runs.
 * @example withBeforeAgent((ctx, config) => { config.runOptions = { ...config.runOptions, maxIterations: 3 } })
 */
export function withBeforeAgent(fn: NonNullable<AgentHandler['beforeAgent']>): AgentHandler {
  return { name: 'withBeforeAgent', beforeAgent: checked('withBeforeAgent', fn) }
}

/**
 * A handler of one hook: rewrites the history before each model call.
 * @example withBeforeModelRewriteHistory((ctx, messages) => messages.slice(-20))
 */
export function withBeforeModelRewriteHistory(
  fn: NonNullable<AgentHandler['beforeModelRewriteHistory']>,
): AgentHandler {
  const name = 'withBeforeModelRewriteHistory'
  return { name, beforeModelRewriteHistory: checked(name, fn) }
}

/**
 * A handler of one hook: rewrites the history after each model call; its last message decides what happens next.
 * @example withAfterModelRewriteHistory((ctx, messages) => messages.with(-1, redact(messages.at(-1))))
 */
export function withAfterModelRewriteHistory(fn: NonNullable<AgentHandler['afterModelRewriteHistory']>): AgentHandler {
  const name = 'withAfterModelRewriteHistory'
  return { name, afterModelRewriteHistory: checked(name, fn) }
}

/**
 * A handler of one hook: wraps each call of a tool that returns its result at once.
 * @example withInvokableToolWrapper(async (ctx, input, next) => { log(input.name); return next(ctx, input) })
 */
export function withInvokableToolWrapper(fn: NonNullable<AgentHandler['wrapInvokableToolCall']>): AgentHandler {
  const name = 'withInvokableToolWrapper'
  return { name, wrapInvokableToolCall: checked(name, fn) }
}

/**
 * A handler of one hook: wraps each call of a tool that streams.
 * @example withStreamableToolWrapper(async (ctx, input, next) => { log(input.name); return next(ctx, input) })
 */
export function withStreamableToolWrapper(fn: NonNullable<AgentHandler['wrapStreamableToolCall']>): AgentHandler {
  const name = 'withStreamableToolWrapper'
  return { name, wrapStreamableToolCall: checked(name, fn) }
}

function checked<F>(name: string, fn: F): F {
  if (typeof fn === 'function') return fn
  throw new KernelError('CONFIG_INVALID', `${name}: expected a function, ${got(fn)}`)
}

/** Continues without a promise where nothing has to be awaited. */
function whenKnown<T, U>(result: Awaitable<T>, then: (result: T) => U): Awaitable<U> {
  return isThenable(result) ? result.then(then) : then(result)
}

function isThenable<T>(result: Awaitable<T>): result is PromiseLike<T> {
  return isObject(result) && 'then' in result
}

function unpack<T>(
  changed: Changed<T>,
  isValue: (value: unknown) => boolean,
  expected: string,
): { readonly value: T; readonly ctx: RunContext | undefined } {
  if (isValue(changed)) return { value: changed as T, ctx: undefined }
  if (isObject(changed) && 'ctx' in changed && isValue(changed.value)) return changed as { value: T; ctx: RunContext }
  throw new KernelError('CONFIG_INVALID', `${expected} or { value, ctx }, ${got(changed)}`)
}
