import { type Count, type CounterStore, type JsonObject, KernelError, type RunContext } from '@troupe/kernel'
import type { Meter, Unit } from './budget-limit.ts'

/** How much of each unit a call has used. */
export type Spent = { readonly [unit in Unit]?: number }

/** A limit that was reached, or is near. */
export type BudgetState = {
  readonly per: Meter['per']
  readonly unit: Unit
  readonly limit: number
  readonly spent: number
  readonly windowMs?: number
}

const DAY_MS = 24 * 3_600_000
/** A counter without a window is forgotten when nothing was counted for so long. */
const KEPT_MS = { run: 30 * DAY_MS, thread: 400 * DAY_MS, owner: 400 * DAY_MS }
const PRUNED = 100

/** The counters of the limits of one call. */
export class CountedMeters {
  readonly #counters: CounterStore
  readonly #meters: readonly (Meter & { readonly name: string; readonly expiresAt: number })[]
  readonly #owner: RunContext['session']
  readonly #now: number

  /** Contract: `runId` is that of the whole run. */
  constructor(counters: CounterStore, meters: readonly Meter[], ctx: RunContext, runId: string) {
    const { session, clock } = ctx
    const now = clock.now()
    const ids = { run: runId, thread: session.threadId, owner: '' }
    this.#counters = counters
    this.#owner = session
    this.#now = now
    this.#meters = meters.map((meter) => {
      const { per, unit, windowMs } = meter
      const window = windowMs === undefined ? '' : `${windowMs}:${Math.floor(now / windowMs)}`
      const expiresAt = windowMs === undefined ? now + KEPT_MS[per] : (Math.floor(now / windowMs) + 1) * windowMs
      return { ...meter, name: `budget/${per}/${unit}/${window}/${ids[per]}`, expiresAt }
    })
  }

  /** Counts the call itself. Contract: throws if it would go beyond a limit, and counts nothing then. */
  async begin(): Promise<void> {
    const now = await this.#add({ calls: 1 }, true)
    const reached = this.#meters.find(({ name, unit, limit }) => {
      const value = now.get(name) ?? 0
      return unit === 'calls' ? value > limit : value >= limit
    })
    if (!reached) return
    await this.#add({ calls: -1 })
    throw this.#exceeded(reached, (now.get(reached.name) ?? 0) - (reached.unit === 'calls' ? 1 : 0))
  }

  /** Counts what the call has used, and gives the limits that it has come near, by a share of them. */
  async end(spent: Spent, warnAt: number): Promise<readonly BudgetState[]> {
    const now = await this.#add(spent)
    const near = this.#meters.filter(({ name, unit, limit }) => {
      const after = now.get(name) ?? 0
      const before = after - (spent[unit] ?? 0)
      return unit !== 'calls' && before < limit * warnAt && after >= limit * warnAt
    })
    return near.map((meter) => stateOf(meter, now.get(meter.name) ?? 0))
  }

  /** Adds to the counters of these units, and with `all` reads the others; gives what they have. */
  async #add(spent: Spent, all = false): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, Count>()
    for (const { name, unit, expiresAt } of this.#meters) {
      const by = spent[unit] ?? 0
      if (by !== 0 || all) counts.set(name, { name, by, expiresAt })
    }
    if (counts.size === 0) return new Map()
    const list = [...counts.values()]
    const values = await this.#counters.add(this.#owner, list)
    // A counter that begins makes room: so as many go as come.
    if (list.some(({ by }, i) => by > 0 && values[i] === by)) {
      await this.#counters.prune({ before: this.#now, limit: PRUNED })
    }
    return new Map(list.map(({ name }, i) => [name, values[i] ?? 0]))
  }

  #exceeded(meter: Meter & { readonly expiresAt: number }, spent: number): KernelError {
    const state = stateOf(meter, spent)
    const { per, unit, limit, windowMs } = state
    const inWindow = windowMs === undefined ? '' : ` in ${windowMs} ms`
    const details: JsonObject = {
      ...state,
      ...(windowMs !== undefined && { retryAfterMs: meter.expiresAt - this.#now }),
    }
    const message = `budget: the ${per} may use ${limit} ${NAMES[unit]}${inWindow}, got ${spent} before this call`
    const options = { retryable: windowMs !== undefined, details }
    return unit === 'calls'
      ? new KernelError('RATE_LIMITED', message, options)
      : new KernelError('BUDGET_EXCEEDED', message, options)
  }
}

const NAMES: { readonly [unit in Unit]: string } = { tokens: 'tokens', cost: 'of its currency', calls: 'model calls' }

function stateOf({ per, unit, limit, windowMs }: Meter, spent: number): BudgetState {
  return { per, unit, limit, spent, ...(windowMs !== undefined && { windowMs }) }
}
