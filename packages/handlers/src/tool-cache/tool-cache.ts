import {
  type AgentHandler,
  type Clock,
  checkOption,
  checkOptionNames,
  type RunContext,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
  type ToolMeta,
} from '@troupe/kernel'
import { isWhole } from '../is-whole.ts'
import { canonicalJson } from './canonical-json.ts'
import { LruMap } from './lru-map.ts'
import { MergedCalls } from './merged-calls.ts'

/** What `toolCache` caches, for whom and for how long. */
export interface ToolCacheOptions {
  /** The names of the tools to cache; each says `effect: 'pure'`. @default every tool that does */
  readonly tools?: readonly string[]
  /** What decides the result of a call; `undefined` leaves the call alone. Contract: tool name and owner are added to it. @default the tool object, its arguments and its options */
  readonly key?: (input: ToolCallInput, ctx: RunContext) => string | undefined
  /** The least recently used are forgotten. @default 1000 */
  readonly maxEntries?: number
  /** How long a result is good, from the start of its call. @default as long as it is not forgotten */
  readonly ttlMs?: number
  /** @default the clock of the run */
  readonly clock?: Pick<Clock, 'now'>
  /** Whether users get each other's results. @default false */
  readonly shared?: boolean
}

type Entry = { readonly result: ToolCallResult; readonly at: number; readonly madeBy: string }

const MAX_ARGUMENTS = 10_000
const WHO = 'toolCache'

/**
 * Answers a tool call from an equal one before it, or at the same time.
 * Contract: only successes of tools that say `effect: 'pure'` are kept, and never a call that sent an action or asked a person.
 * @example chatModelAgent({ name: 'guide', model, tools: [search], handlers: [toolCache({ ttlMs: 60_000 })] })
 */
export function toolCache(options: ToolCacheOptions = {}): AgentHandler {
  checkOptionNames(WHO, options, { tools: true, key: true, maxEntries: true, ttlMs: true, clock: true, shared: true })
  const { tools, key, maxEntries = 1000, ttlMs, clock, shared = false } = options
  checkOption(tools === undefined || isNames(tools), WHO, 'tools is a list of names', tools)
  checkOption(key === undefined || typeof key === 'function', WHO, 'key is a function', key)
  checkOption(isWhole(maxEntries, 1), WHO, 'maxEntries is a whole number from 1 on', maxEntries)
  checkOption(ttlMs === undefined || ttlMs > 0, WHO, 'ttlMs is a positive number of milliseconds', ttlMs)
  checkOption(clock === undefined || typeof clock?.now === 'function', WHO, 'clock is a Clock', clock)
  checkOption(typeof shared === 'boolean', WHO, 'shared is true or false', shared)

  const names = tools && new Set(tools)
  const entries = new LruMap<Entry>(maxEntries)
  const merged = new MergedCalls()
  const keyOf = key ? customKey(key) : callKey()
  const isCached = (name: string, tool: Tool) =>
    tool.effect === 'pure' && !tool.longRunning && (names?.has(name) ?? true)

  return {
    name: WHO,
    ...(names && { beforeAgent: (_ctx, { tools: own }) => checkPure(names, own) }),
    async wrapInvokableToolCall(ctx, input, next) {
      const { tool, name, idempotencyKey } = input
      const call = tool && isCached(name, tool) ? keyOf(input, tool, ctx) : undefined
      if (tool === undefined || call === undefined) return next(ctx, input)
      const { app, user } = ctx.session
      const place = JSON.stringify(shared ? call : [app, user, call])
      const now = (clock ?? ctx.clock).now()
      const entry = entries.get(place)
      if (entry && ttlMs !== undefined && now - entry.at >= ttlMs) entries.delete(place)
      // The same call once more is a resumed one: its first attempt did not count.
      else if (entry && entry.madeBy !== idempotencyKey) return entry.result
      const run = async () => {
        const result = await next(ctx, input)
        if (!result.error && !ctx.acted) entries.set(place, { result, at: now, madeBy: idempotencyKey })
        return result
      }
      // A streamed call goes at the pace of its reader, for whom nobody else should wait.
      return tool.stream ? run() : merged.call(place, ctx, run)
    },
  }
}

type KeyOf = (input: ToolCallInput, tool: Tool, ctx: RunContext) => readonly unknown[] | undefined

/** Contract: what is too long, too deep or no JSON has no key. */
function callKey(): KeyOf {
  const numbers = new WeakMap<Tool, number>()
  let last = 0
  return ({ arguments: text, callOptions = null }, tool) => {
    if (text.length > MAX_ARGUMENTS) return undefined
    const number = numbers.get(tool) ?? ++last
    numbers.set(tool, number)
    try {
      return [number, canonicalJson(text.trim() === '' ? {} : JSON.parse(text)), canonicalJson(callOptions)]
    } catch {
      return undefined
    }
  }
}

function customKey(key: NonNullable<ToolCacheOptions['key']>): KeyOf {
  return (input, _tool, ctx) => {
    const made: unknown = key(input, ctx)
    checkOption(made === undefined || typeof made === 'string', WHO, 'key gives a text or nothing', made)
    return made === undefined ? undefined : [input.name, made]
  }
}

function isNames(tools: unknown): boolean {
  return Array.isArray(tools) && tools.every((name) => typeof name === 'string' && name !== '')
}

/** Contract: a tool that was named and would never be cached is not passed over in silence. */
function checkPure(names: ReadonlySet<string>, tools: readonly ToolMeta[]): void {
  for (const { tool } of tools) {
    if (!names.has(tool.name)) continue
    const fix = `define it with effect: 'pure' if the same arguments always give the same result, or take it off the list`
    checkOption(tool.effect === 'pure', WHO, `tool ${tool.name} is not pure: ${fix}`, tool.effect)
  }
}
