import { type Awaitable, type Count, type JsonObject, KernelError, type RunContext } from '@troupe/kernel'
import { isPromise } from '@troupe/kernel/kit'
import type { Meter, Unit } from './budget-limit.ts'
import type { Counters } from './run-counters.ts'

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
const NEAR_NONE: readonly BudgetState[] = []

/** A limit with its counter, which several limits may share. */
type Counted = Meter & { readonly name: string; readonly expiresAt: number; value: number }

/** The counters of the limits of one call. */
export class CountedMeters {
  readonly #counters: Counters
  readonly #meters: readonly Counted[]
  readonly #owner: RunContext['session']
  readonly #now: number

  /** Contract: `runId` is that of the whole run. */
  constructor(counters: Counters, meters: readonly Meter[], ctx: RunContext, runId: string) {
    const { session, clock } = ctx
    const now = clock.now()
    this.#counters = counters
    this.#owner = session
    this.#now = now
    this.#meters = meters.map(({ per, unit, limit, windowMs }) => {
      const id = per === 'run' ? runId : per === 'thread' ? session.threadId : ''
      if (windowMs === undefined) {
        return { per, unit, limit, name: `budget/${per}/${unit}//${id}`, expiresAt: now + KEPT_MS[per], value: 0 }
      }
      const window = Math.floor(now / windowMs)
      const name = `budget/${per}/${unit}/${windowMs}:${window}/${id}`
      return { per, unit, limit, windowMs, name, expiresAt: (window + 1) * windowMs, value: 0 }
    })
  }

  /** Counts the call itself. Contract: throws if it would go beyond a limit, and counts nothing then. */
  begin(): void | Promise<void> {
    const wait = this.#add({ calls: 1 }, true)
    return wait ? wait.then(() => this.#checkLimits()) : this.#checkLimits()
  }

  /** Counts what the call has used, and gives the limits that it has come near, by a share of them. */
  end(spent: Spent, warnAt: number): Awaitable<readonly BudgetState[]> {
    const wait = this.#add(spent, false)
    return wait ? wait.then(() => this.#near(spent, warnAt)) : this.#near(spent, warnAt)
  }

  #checkLimits(): void | Promise<void> {
    const reached = this.#meters.find(({ unit, limit, value }) => (unit === 'calls' ? value > limit : value >= limit))
    if (!reached) return
    const error = exceeded(reached, this.#now)
    const wait = this.#add({ calls: -1 }, false)
    if (!wait) throw error
    return wait.then(() => {
      throw error
    })
  }

  #near(spent: Spent, warnAt: number): readonly BudgetState[] {
    let near = NEAR_NONE
    for (const { value, ...meter } of this.#meters) {
      const { unit, limit } = meter
      if (unit === 'calls' || value < limit * warnAt || value - (spent[unit] ?? 0) >= limit * warnAt) continue
      near = [...near, stateOf(meter, value)]
    }
    return near
  }

  /** Adds to the counters of these units, and with `all` reads the others; the meters have what they are then. */
  #add(spent: Spent, all: boolean): void | Promise<void> {
    const counts: Count[] = []
    for (const { name, unit, expiresAt } of this.#meters) {
      const by = spent[unit] ?? 0
      if ((by !== 0 || all) && !counts.some((count) => count.name === name)) counts.push({ name, by, expiresAt })
    }
    if (counts.length === 0) return
    const values = this.#counters.add(this.#owner, counts)
    if (!isPromise(values)) return this.#note(counts, values)
    return Promise.resolve(values).then((found) => this.#noted(counts, found))
  }

  #note(counts: readonly Count[], values: readonly number[]): void {
    for (const meter of this.#meters) {
      const at = counts.findIndex(({ name }) => name === meter.name)
      if (at >= 0) meter.value = values[at] ?? 0
    }
  }

  async #noted(counts: readonly Count[], values: readonly number[]): Promise<void> {
    this.#note(counts, values)
    // A counter that begins makes room: so as many go as come.
    if (!counts.some(({ by }, i) => by > 0 && values[i] === by)) return
    await this.#counters.prune({ before: this.#now, limit: PRUNED })
  }
}

/** The error of a call beyond a limit. */
function exceeded(meter: Counted, now: number): KernelError {
  const { per, unit, limit, windowMs, value, expiresAt } = meter
  const spent = unit === 'calls' ? value - 1 : value
  const inWindow = windowMs === undefined ? '' : ` in ${windowMs} ms`
  const wait = windowMs !== undefined && { retryAfterMs: expiresAt - now }
  const details: JsonObject = { ...stateOf(meter, spent), ...wait }
  const message = `budget: the ${per} may use ${limit} ${NAMES[unit]}${inWindow}, got ${spent} before this call`
  const options = { retryable: windowMs !== undefined, details }
  return unit === 'calls'
    ? new KernelError('RATE_LIMITED', message, options)
    : new KernelError('BUDGET_EXCEEDED', message, options)
}

const NAMES: { readonly [unit in Unit]: string } = { tokens: 'tokens', cost: 'of its currency', calls: 'model calls' }

function stateOf({ per, unit, limit, windowMs }: Meter, spent: number): BudgetState {
  return { per, unit, limit, spent, ...(windowMs !== undefined && { windowMs }) }
}
