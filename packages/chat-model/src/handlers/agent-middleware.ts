import type { AgentHandler, Awaitable, InvokeTool, Message, RunContext, StreamTool, Tool } from '@troupe/kernel'
import { checkOption, checkOptionNames, nearest, type OptionNames, toolMetas } from '@troupe/kernel/kit'

/** The state that the model hooks of a middleware may change. */
export interface ChatModelAgentState {
  messages: Message[]
}

/** The older way to extend an agent; handlers replace it, and it keeps working unchanged. */
export interface AgentMiddleware {
  /** Appended to the instruction, after one newline. */
  readonly additionalInstruction?: string
  readonly additionalTools?: readonly Tool[]
  readonly beforeChatModel?: (ctx: RunContext, state: ChatModelAgentState) => Awaitable<void>
  readonly afterChatModel?: (ctx: RunContext, state: ChatModelAgentState) => Awaitable<void>
  readonly wrapToolCall?: {
    readonly invokable?: (next: InvokeTool) => InvokeTool
    readonly streamable?: (next: StreamTool) => StreamTool
  }
}

const NAMES: OptionNames<AgentMiddleware> = {
  additionalInstruction: true,
  additionalTools: true,
  beforeChatModel: true,
  afterChatModel: true,
  wrapToolCall: true,
}
const ALIASES = { beforeModelRewriteHistory: 'beforeChatModel', afterModelRewriteHistory: 'afterChatModel' } as const
const FIELDS: readonly string[] = Object.keys(NAMES)

/** Whether something in a list of handlers is a middleware. */
export function isMiddleware(entry: AgentHandler | AgentMiddleware): entry is AgentMiddleware {
  return typeof entry === 'object' && entry !== null && !('name' in entry) && FIELDS.some((field) => field in entry)
}

/** Makes a handler of a middleware. */
export function middlewareHandler(middleware: AgentMiddleware, who: string): AgentHandler {
  checkOption(typeof middleware === 'object' && middleware !== null, who, 'a middleware must be an object', middleware)
  checkNames(middleware, `${who}: middleware`)
  const { additionalInstruction, additionalTools = [], beforeChatModel, afterChatModel, wrapToolCall } = middleware
  const { invokable, streamable } = wrapToolCall ?? {}
  checkOption(
    typeof (additionalInstruction ?? '') === 'string',
    who,
    'additionalInstruction must be text',
    additionalInstruction,
  )
  checkOption(
    typeof (wrapToolCall ?? {}) === 'object',
    who,
    'wrapToolCall must be { invokable, streamable }',
    wrapToolCall,
  )
  if (wrapToolCall) {
    checkOptionNames(`${who}: wrapToolCall`, wrapToolCall, { invokable: true, streamable: true })
  }
  for (const [hook, value] of Object.entries({ beforeChatModel, afterChatModel, invokable, streamable })) {
    checkOption(value === undefined || typeof value === 'function', who, `${hook} must be a function`, value)
  }
  const added = toolMetas(additionalTools)
  return {
    name: 'legacy-middleware',
    ...((additionalInstruction || added.length > 0) && {
      beforeAgent(_ctx, config) {
        if (additionalInstruction) config.instruction = `${config.instruction}\n${additionalInstruction}`
        config.tools = config.tools.concat(added)
      },
    }),
    ...(beforeChatModel && { beforeModelRewriteHistory: rewriting(beforeChatModel) }),
    ...(afterChatModel && { afterModelRewriteHistory: rewriting(afterChatModel) }),
    ...(invokable && { wrapInvokableToolCall: wrapping(invokable) }),
    ...(streamable && { wrapStreamableToolCall: wrapping(streamable) }),
  }
}

/** Refuses misspelt fields. Contract: a name that resembles no field is a member of the middleware's own. */
function checkNames(middleware: AgentMiddleware, who: string): void {
  const fields = Object.entries(middleware).filter(
    ([name]) => /^(before|after|wrap|on)[A-Z_]/.test(name) || nearest(name, FIELDS) !== undefined,
  )
  checkOptionNames<AgentMiddleware>(who, Object.fromEntries(fields), NAMES, ALIASES)
}

function rewriting(
  hook: NonNullable<AgentMiddleware['beforeChatModel']>,
): NonNullable<AgentHandler['beforeModelRewriteHistory']> {
  return async (ctx, messages) => {
    const state = { messages: messages.slice() }
    await hook(ctx, state)
    return state.messages
  }
}

/** Contract: a middleware is applied once to each `next`, not with every call. */
function wrapping<C, I, R>(
  wrap: (next: (ctx: C, input: I) => R) => (ctx: C, input: I) => R,
): (ctx: C, input: I, next: (ctx: C, input: I) => R) => R {
  const wrapped = new WeakMap<(ctx: C, input: I) => R, (ctx: C, input: I) => R>()
  return (ctx, input, next) => {
    const known = wrapped.get(next) ?? wrap(next)
    wrapped.set(next, known)
    return known(ctx, input)
  }
}
