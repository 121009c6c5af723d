import type { AgentHandler, Clock, RunContext, Tool, ToolCallInput, ToolCallResult, ToolMeta } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { isWhole } from '../is-whole.ts'
import { canonicalJson } from './canonical-json.ts'
import { LruMap } from './lru-map.ts'
import { MergedCalls } from './merged-calls.ts'
import { sharedResult } from './shared-result.ts'

/** Options of `toolCache`. */
export interface ToolCacheOptions {
  /** The names of the tools to cache; each must have `effect: 'pure'`. @default every pure tool */
  readonly tools?: readonly string[]
  /** Makes the cache key of a call; `undefined` leaves the call uncached. Contract: tool name and owner are added to it. @default the tool object, its arguments and its options */
  readonly key?: (input: ToolCallInput, ctx: RunContext) => string | undefined
  /** The number of results to keep; the least recently used are dropped. @default 1000 */
  readonly maxEntries?: number
  /** How long a result is valid, from the start of its call. @default until it is dropped */
  readonly ttlMs?: number
  /** @default the clock of the run */
  readonly clock?: Pick<Clock, 'now'>
  /** Whether users get each other's results. @default false */
  readonly shared?: boolean
}

type CachedResult = { readonly result: ToolCallResult; readonly at: number; readonly madeBy: string }

const MAX_ARGUMENTS = 10_000
const WHO = 'toolCache'

/**
 * Answers a tool call with the result of an equal call, made before or at the same time.
 * Contract: caches only successes of tools with `effect: 'pure'`, and never a call that sent an action or asked a person.
 * @example chatModelAgent({ name: 'guide', model, tools: [search], handlers: [toolCache({ ttlMs: 60_000 })] })
 */
export function toolCache(options: ToolCacheOptions = {}): AgentHandler {
  checkOptionNames(WHO, options, { tools: true, key: true, maxEntries: true, ttlMs: true, clock: true, shared: true })
  const { tools, key, maxEntries = 1000, ttlMs, clock, shared = false } = options
  checkOption(tools === undefined || isNames(tools), WHO, 'tools must be a list of names', tools)
  checkOption(key === undefined || typeof key === 'function', WHO, 'key must be a function', key)
  checkOption(isWhole(maxEntries, 1), WHO, 'maxEntries must be a whole number from 1 on', maxEntries)
  checkOption(ttlMs === undefined || ttlMs > 0, WHO, 'ttlMs must be a positive number of milliseconds', ttlMs)
  checkOption(clock === undefined || typeof clock?.now === 'function', WHO, 'clock must be a Clock', clock)
  checkOption(typeof shared === 'boolean', WHO, 'shared must be true or false', shared)

  const names = tools && new Set(tools)
  const entries = new LruMap<CachedResult>(maxEntries)
  const merged = new MergedCalls()
  const keyOf = key ? customKey(key) : callKey()
  const isCached = (name: string, tool: Tool) =>
    tool.effect === 'pure' && !tool.longRunning && (names?.has(name) ?? true)
  const find = (entryKey: string, now: number) => {
    const entry = entries.get(entryKey)
    if (!entry || ttlMs === undefined || now - entry.at < ttlMs) return entry
    entries.delete(entryKey)
    return undefined
  }

  return {
    name: WHO,
    ...(names && { beforeAgent: (_ctx, { tools: own }) => checkPure(names, own) }),
    async wrapInvokableToolCall(ctx, input, next) {
      const { tool, name, idempotencyKey } = input
      const call = tool && isCached(name, tool) ? keyOf(input, tool, ctx) : undefined
      if (tool === undefined || call === undefined) return next(ctx, input)
      const { app, user } = ctx.session
      const entryKey = JSON.stringify(shared ? call : [app, user, call])
      const now = (clock ?? ctx.clock).now()
      const entry = find(entryKey, now)
      // The same idempotency key means a resumed call: its first attempt did not count.
      if (entry && entry.madeBy !== idempotencyKey) return entry.result
      const run = async () => {
        const result = await next(ctx, input)
        if (!result.error && !ctx.acted) {
          entries.set(entryKey, { result: sharedResult(result), at: now, madeBy: idempotencyKey })
        }
        return result
      }
      // A streamed call runs at the pace of its reader; other calls should not wait for it.
      return tool.stream ? run() : merged.call(entryKey, ctx, run)
    },
  }
}

type KeyOf = (input: ToolCallInput, tool: Tool, ctx: RunContext) => readonly unknown[] | undefined

/** Makes keys of tool object, arguments and options. Contract: no key for arguments that are too long, too deep or not JSON. */
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
    checkOption(made === undefined || typeof made === 'string', WHO, 'key must return text or undefined', made)
    return made === undefined ? undefined : [input.name, made]
  }
}

function isNames(tools: unknown): boolean {
  return Array.isArray(tools) && tools.every((name) => typeof name === 'string' && name !== '')
}

/** Contract: throws for a tool that is on the list but not pure, because it would never be cached. */
function checkPure(names: ReadonlySet<string>, tools: readonly ToolMeta[]): void {
  for (const { tool } of tools) {
    if (!names.has(tool.name)) continue
    const fix = `define it with effect: 'pure' if the same arguments always give the same result, or take it off the list`
    checkOption(tool.effect === 'pure', WHO, `tool ${tool.name} is not pure: ${fix}`, tool.effect)
  }
}
