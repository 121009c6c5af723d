import {
  type AgentHandler,
  type Awaitable,
  type CounterStore,
  contextKey,
  KernelError,
  type ModelPart,
  type RunContext,
  type Store,
  stream,
  type Usage,
} from '@troupe/kernel'
import {
  checkOption,
  checkOptionNames,
  isPromise,
  mapStream,
  pipe,
  sinkTo,
  type WrapModelCall,
  wrapOwnCalls,
} from '@troupe/kernel/kit'
import { LruMap } from '../tool-cache/lru-map.ts'
import { type BudgetLimit, type Meter, metersOf } from './budget-limit.ts'
import { type BudgetState, CountedMeters } from './counted-meters.ts'
import type { Price } from './price.ts'
import { type Counters, RunCounters } from './run-counters.ts'
import { UsedTokens } from './used-tokens.ts'

/** Options of `budget`. */
export interface BudgetOptions {
  /** @default none: calls are priced and not limited */
  readonly limits?: readonly BudgetLimit[]
  /** Where what was spent is counted, for all processes together. @default in this process; limits per thread and owner need a store */
  readonly store?: Pick<Store, 'counters'>
  /** What a call costs, whose model is `''` if none has said its name yet: a function, or `genaiPrices(calcPrice)`. @default no costs */
  readonly price?: Price
  /** The share of a limit of tokens or cost at which the event `budget-warning` comes. @default 0.8 */
  readonly warnAt?: number
}

const WHO = 'budget'

/** How many runs a process remembers that have no store. */
const REMEMBERED_RUNS = 10_000

/** The whole run, for the runs nested in it. */
const ROOT = contextKey<{ readonly runId: string; readonly counters: Counters }>('budget.root')

/**
 * Prices the calls of models, and refuses a call when a limit on tokens, cost or calls is reached.
 * Contract: counts after each call, so each run that calls at the same time may go beyond a limit by one call; a call that broke off counts as estimated.
 * @example chatModelAgent({ name: 'guide', model, handlers: [budget({ store, limits: [{ per: 'owner', tokens: 1_000_000, windowMs: 86_400_000 }] })] })
 */
export function budget(options: BudgetOptions): AgentHandler {
  checkOptionNames(WHO, options, { limits: true, store: true, price: true, warnAt: true })
  const { limits = [], store, price, warnAt = 0.8 } = options
  const meters = metersOf(WHO, limits)
  checkOption(price === undefined || typeof price === 'function', WHO, 'price must be a function', price)
  checkOption(meters.length > 0 || price !== undefined, WHO, 'expected limits or price', undefined)
  checkOption(typeof warnAt === 'number' && warnAt > 0 && warnAt <= 1, WHO, 'warnAt must be a share up to 1', warnAt)
  const hasCost = meters.some(({ unit }) => unit === 'cost')
  checkOption(!hasCost || price !== undefined, WHO, 'a limit of cost needs a price', undefined)
  const counters = countersOf(meters, store)
  if (meters.length === 0) return pricing(price as Price)
  const rootOf = rootsOf()
  /** For calls that broke off before their model had said its name. */
  let lastModel = ''

  const countCall: WrapModelCall = (ctx, request, next) =>
    stream<ModelPart>(async (sink) => {
      const root = ctx.get(ROOT) ?? rootOf(ctx)
      const counted = new CountedMeters(counters ?? root.counters, meters, ctx, root.runId)
      const wait = counted.begin()
      if (wait) await wait
      const used = new UsedTokens(request)
      const end = (): Awaitable<boolean> => {
        const usage = used.total()
        const tokens = usage.inputTokens + usage.outputTokens
        const cost = price && costOf(price, lastModel, usage)
        const near = counted.end({ tokens, ...(cost !== undefined && { cost }) }, warnAt)
        const isCounted = !hasCost || tokens === 0 || cost !== undefined
        return isPromise(near) || near.length > 0 ? warn(ctx, near).then(() => isCounted) : isCounted
      }
      const parts = sinkTo(sink, (part: ModelPart) => {
        used.add(part)
        if (part.type !== 'finish') return sink.write(part)
        lastModel = part.model ?? lastModel
        return sink.write(price ? { ...part, usage: priced(price, lastModel, part.usage) } : part)
      })
      try {
        await pipe(next(ctx, request), parts)
      } catch (error) {
        await end()
        throw error
      }
      const isCounted = end()
      if (!(isPromise(isCounted) ? await isCounted : isCounted)) throw unpriced(lastModel)
    })
  return {
    name: WHO,
    beforeAgent: (ctx) => wrapOwnCalls(ctx.get(ROOT) === undefined ? ctx.with(ROOT, rootOf(ctx)) : ctx, countCall),
    wrapModelCall: countCall,
  }
}

/** Says which limits a run has come near. */
async function warn(ctx: RunContext, near: Awaitable<readonly BudgetState[]>): Promise<void> {
  for (const state of await near) await ctx.emit('budget-warning', state)
}

/** Prices calls without counting them. */
function pricing(price: Price): AgentHandler {
  const priceCall: WrapModelCall = (ctx, request, next) =>
    mapStream(next(ctx, request), (part) =>
      part.type === 'finish' ? { ...part, usage: priced(price, part.model ?? '', part.usage) } : part,
    )
  return { name: WHO, beforeAgent: (ctx) => wrapOwnCalls(ctx, priceCall), wrapModelCall: priceCall }
}

/** The counters of each run, which its agents share: those of a workflow begin one after the other. */
function rootsOf(): (ctx: RunContext) => { readonly runId: string; readonly counters: Counters } {
  const runs = new LruMap<Counters>(REMEMBERED_RUNS)
  return ({ runId, session: { app, user, threadId } }) => {
    const key = JSON.stringify([app, user, threadId, runId])
    const counters = runs.get(key) ?? new RunCounters()
    runs.set(key, counters)
    return { runId, counters }
  }
}

/** Contract: undefined if each run counts for itself. */
function countersOf(meters: readonly Meter[], store: BudgetOptions['store']): CounterStore | undefined {
  if (store === undefined) {
    const shared = meters.find(({ per }) => per !== 'run')
    checkOption(
      shared === undefined,
      WHO,
      `a limit per ${shared?.per} needs a store, which counts for all processes`,
      store,
    )
    return undefined
  }
  checkOption(typeof store?.counters?.add === 'function', WHO, 'store must be a Store with counters', store)
  return store.counters as CounterStore
}

function priced(price: Price, model: string, usage: Usage): Usage {
  const cost = costOf(price, model, usage)
  return cost === undefined ? usage : { ...usage, cost }
}

function costOf(price: Price, model: string, usage: Usage): number | undefined {
  const cost = price(model, usage)
  return cost !== undefined && Number.isFinite(cost) && cost >= 0 ? cost : undefined
}

/** The error of a call that a limit of cost cannot count. */
function unpriced(model: string): KernelError {
  return new KernelError(
    'PRICE_UNKNOWN',
    `${WHO}: a limit of cost needs the price of each model, got none for ${model}`,
    {
      details: { model },
    },
  )
}
