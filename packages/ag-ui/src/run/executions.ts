import { type Clock, KernelError, type ThreadRef } from '@troupe/kernel'
import { withinTime } from '@troupe/kernel/kit'
import { Beat } from './beat.ts'
import type { ExecutionState } from './execution-state.ts'

/** How long setting up a run may take, and how long a run holds its place among the limited number of runs, by default. */
export const EXECUTION_MS = 600_000

/** How many runs a process may have at once, by default: about as many as two cores can stream from PostgreSQL at a hundred deltas a second each. */
export const MAX_EXECUTIONS = 100

/** How long a request waits for a run that was stopped. */
const ENDING_MS = 2_000
/** How long the end of a connection may take to arrive after the next request of its client. */
const LEAVING_MS = 100

/** The runs of this process: one table to find, stop and await them. */
export class Executions {
  /** When these runs write their logs. */
  readonly beat: Beat
  readonly #clock: Clock
  readonly #max: number
  readonly #timeoutMs: number
  readonly #maxPerUser: number
  /** In the order in which they came. */
  readonly #running: Set<ExecutionState> = new Set()
  /** What is under way on logs of runs that have ended. */
  readonly #upkeep: Map<string, Promise<unknown>> = new Map()
  #stopping = false
  /** The reason to stop every run, including those that enter later. */
  #reason: KernelError | undefined

  constructor(
    clock: Clock,
    max: number = Number.POSITIVE_INFINITY,
    timeoutMs: number = EXECUTION_MS,
    maxPerUser: number = max,
  ) {
    this.beat = new Beat(clock)
    this.#clock = clock
    this.#max = max
    this.#timeoutMs = timeoutMs
    this.#maxPerUser = maxPerUser
  }

  get size(): number {
    return this.#running.size
  }

  /** Whether no more runs should be started. */
  get stopping(): boolean {
    return this.#stopping
  }

  /** Adds a run until it ends. Contract: when the limit is reached, runs that exceeded their time are stopped and removed; `EXECUTION_LIMIT` if there are none, and `USER_LIMIT` if its user has too many. A second call changes nothing. */
  enter(execution: ExecutionState): void {
    if (this.#running.has(execution)) return
    if (this.#running.size >= this.#max || this.#isFullFor(execution.ref)) this.#removeStale()
    // A user at the limit learns that first, because waiting for others would not help.
    if (this.#maxPerUser < this.#max && this.#isFullFor(execution.ref)) {
      throw new KernelError('USER_LIMIT', `run: the limit of ${this.#maxPerUser} concurrent runs per user is reached`, {
        retryable: true,
      })
    }
    if (this.#running.size >= this.#max) {
      throw new KernelError('EXECUTION_LIMIT', `run: the limit of ${this.#max} concurrent runs is reached`, {
        retryable: true,
      })
    }
    this.#running.add(execution)
    void execution.ended.then(() => this.#running.delete(execution))
    if (this.#reason) execution.stop(this.#reason)
  }

  #isFullFor({ app, user }: ThreadRef): boolean {
    let count = 0
    for (const { ref } of this.#running) if (ref.user === user && ref.app === app) count++
    return count >= this.#maxPerUser
  }

  /** The run of a thread in this process; the oldest, if a second one is still being refused. */
  find(ref: ThreadRef, runId?: string): ExecutionState | undefined {
    for (const execution of this.#running) {
      const { app, user, threadId } = execution.ref
      if (threadId !== ref.threadId || user !== ref.user || app !== ref.app) continue
      if (runId === undefined || runId === execution.runId) return execution
    }
    return undefined
  }

  /** Waits a moment for a stopped run of a thread, so that a message sent right after a stop is not refused. Contract: a run that all of its readers have left is stopped for that, unless the request is for that run; who has just left may be known a moment later. */
  async settled(ref: ThreadRef, runId: string): Promise<void> {
    const before = this.find(ref)
    if (!before) return
    if (before.runId !== runId && before.readers && (await this.#within(LEAVING_MS, before.readers.left))) before.stop()
    if (before.signal.aborted) await this.endsSoon(before)
  }

  /** Whether a run ends within two seconds. */
  endsSoon({ ended }: ExecutionState): Promise<boolean> {
    return this.#within(ENDING_MS, ended)
  }

  /** Does something to the log of a run that has ended: once for all who ask while it is under way. Contract: `stopAll` waits for it as for a run. */
  once<T>(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.#upkeep.get(key) as Promise<T> | undefined
    if (known) return known
    const done = work().finally(() => this.#upkeep.delete(key))
    this.#upkeep.set(key, done)
    return done
  }

  /** Refuses new runs, waits `graceMs` for active runs to end, then stops them. Contract: resolves when all have ended, or after ten more seconds; runs that workers carry out go on without this process, and are left at once. */
  async stopAll(graceMs: number, isCarried?: (run: ExecutionState) => Promise<boolean>): Promise<void> {
    this.#stopping = true
    if (isCarried) await this.#leave(isCarried)
    if (await this.#within(graceMs, this.#empty())) return
    const reason = new KernelError('ABORTED', 'server: stopped')
    this.#reason = reason
    for (const execution of this.#running) execution.stop(reason)
    await this.#within(ENDING_MS * 5, this.#empty())
  }

  async #leave(isCarried: (run: ExecutionState) => Promise<boolean>): Promise<void> {
    const leave = async (run: ExecutionState) => {
      // A store that cannot tell does not keep a server from stopping.
      if (run.log && (await isCarried(run).catch(() => false))) run.log.leave()
    }
    await Promise.all([...this.#running].map(leave))
  }

  async #empty(): Promise<void> {
    while (this.#running.size + this.#upkeep.size > 0) {
      await Promise.allSettled([...Array.from(this.#running, ({ ended }) => ended), ...this.#upkeep.values()])
    }
  }

  #within(ms: number, work: Promise<void>): Promise<boolean> {
    return withinTime(
      this.#clock,
      ms,
      work.then(() => true),
      () => false,
    )
  }

  #removeStale(): void {
    for (const execution of this.#running) {
      if (this.#clock.now() - execution.startedAt < this.#timeoutMs) continue
      execution.stop(executionTimeout(this.#timeoutMs))
      this.#running.delete(execution)
    }
  }
}

/** The error of a run that took too long. */
export function executionTimeout(ms: number): KernelError {
  return new KernelError('EXECUTION_TIMEOUT', `run: exceeded its time limit of ${ms} ms`)
}
