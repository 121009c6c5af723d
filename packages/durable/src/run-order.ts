import {
  type Answers,
  type ContextKey,
  type Json,
  type JsonObject,
  KernelError,
  type RunContext,
  type RunInput,
  type RunRequest,
  type ThreadRef,
} from '@troupe/kernel'
import { notJson } from '@troupe/kernel/kit'
import { createRunContext } from '@troupe/kernel/run'
import { type OrderedTool, orderedTools, toolsOf } from './ordered-tools.ts'

/** What a run is asked to do, as JSON: it crosses from the process that orders the run to the worker that carries it out. */
export type RunOrder = {
  readonly ref: ThreadRef
  readonly runId: string
  /** The name under which workers have the agent. */
  readonly agent: string
  /** Whether no run has begun with its id before. */
  readonly fresh?: true
  readonly input: Omit<RunInput, 'additions'> & {
    readonly instruction?: string
    readonly tools?: readonly OrderedTool[]
  }
  readonly answers?: Answers
  readonly closed?: readonly string[]
  /** Values of the context that `prepare` has put there, by the names of their keys. */
  readonly values?: JsonObject
  readonly carry?: Json
  readonly timeoutMs?: number
  readonly pending?: 'reject' | 'drop'
}

/** The keys of context values that cross to the worker: those that `contextKey` made, with values of any type. */
export type SharedKeys = readonly Pick<ContextKey<unknown>, 'name'>[]

/** Makes the input of an order. Contract: `CONFIG_INVALID` for a tool that has a body, which cannot cross. */
export function orderedInput({ additions, ...input }: RunInput): RunOrder['input'] {
  const { instruction, tools } = additions ?? {}
  return {
    ...input,
    ...(instruction !== undefined && { instruction }),
    ...(tools && tools.length > 0 && { tools: orderedTools(tools) }),
  }
}

/** The input as a runner takes it. */
export function inputOf({ instruction, tools, ...input }: RunOrder['input']): RunInput {
  if (instruction === undefined && !tools) return input
  return {
    ...input,
    additions: { ...(instruction !== undefined && { instruction }), ...(tools && { tools: toolsOf(tools) }) },
  }
}

/** The values that `prepare` gives to a context. Contract: `CONFIG_INVALID` for one that is not JSON. */
export function sharedValues(
  keys: SharedKeys,
  { prepare, session }: Pick<RunRequest, 'prepare' | 'session'>,
  runId: string,
): JsonObject {
  if (!prepare || keys.length === 0) return {}
  const ctx = prepare(createRunContext({ runId, ...(session && { session }) }))
  const values: Record<string, Json> = {}
  for (const key of keys) {
    const value = ctx.get(key as ContextKey<unknown>)
    if (value === undefined) continue
    const broken = notJson(value)
    if (broken !== undefined) {
      const at = broken || 'its root'
      throw new KernelError(
        'CONFIG_INVALID',
        `shared: the value of ${key.name} must be plain JSON, which it is not at ${at}`,
      )
    }
    values[key.name] = value as Json
  }
  return values
}

/** Puts the values of an order into a context. */
export function withValues(keys: SharedKeys, values: JsonObject = {}): (ctx: RunContext) => RunContext {
  return (ctx) => {
    let inner = ctx
    for (const key of keys)
      if (Object.hasOwn(values, key.name)) inner = inner.with(key as ContextKey<unknown>, values[key.name])
    return inner
  }
}
