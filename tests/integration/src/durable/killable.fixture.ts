import { type FlowRunner, type RunnerOptions, runner } from '@troupe/flow'
import type { Agent, AgentEvent, Clock, Json, Message, Store, ThreadCommit, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type FakeClock, fakeClock } from '@troupe/testkit'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't' }

/** Never settles. Contract: a promise of its own, so that nothing keeps what waits for it. */
const never = () => new Promise<never>(() => {})
const tick = () => new Promise<void>((resolve) => void setImmediate(resolve))

/** A process that can be killed: from then on its store never answers, and nothing that it does counts. */
export interface Process {
  /** Its number in its world, from 1. */
  readonly number: number
  readonly runner: FlowRunner
  /** The store as this process sees it. */
  readonly store: Store
  readonly alive: boolean
  /** Settles when it has been killed. */
  readonly killed: Promise<void>
  kill(): void
  /** Lets others go on; in a process that was killed it never returns. */
  pause(ticks: number): Promise<void>
}

/** Kills a process right before or after a write, or in a pause; writes and the ticks of all pauses are numbered from 1. */
export type KillAt =
  | {
      readonly write: number
      readonly done: boolean
      /** Whether writes to the run log count too. */
      readonly log?: boolean
    }
  | { readonly tick: number }

/** What a write has added to the journal of a run. */
export interface JournalWrite {
  readonly by: Process
  readonly runId: string
  readonly entries: readonly Json[]
  /** The number of writes up to it. */
  readonly writes: number
}

/** A store that outlives its processes. */
export interface World {
  readonly store: Store
  readonly clock: FakeClock
  /** The writes that count, in order. */
  readonly writes: string[]
  /** The steps that were stored, in order. */
  readonly journal: JournalWrite[]
  /** How many ticks its processes have paused. */
  ticks: number
  start(agent: Agent | ((process: Process) => Agent), options?: Partial<RunnerOptions>, killAt?: KillAt): Process
  messages(): Promise<readonly Message[]>
  /** Lets the lease of a killed process expire. */
  expire(): void
}

export function world(): World {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  let started = 0
  const here: World = {
    store,
    clock,
    writes: [],
    journal: [],
    ticks: 0,
    start: (agent, options, killAt) => new KillableProcess(here, ++started, agent, options, killAt),
    messages: async () => (await store.threads.messages(ANN, { limit: 1_000 })).map(({ message }) => message),
    expire: () => clock.advance(31_000),
  }
  return here
}

class KillableProcess implements Process {
  readonly number: number
  readonly runner: FlowRunner
  readonly store: Store
  readonly killed: Promise<void>
  alive = true
  readonly #world: World
  readonly #killAt: KillAt | undefined
  readonly #onKilled: () => void

  constructor(
    here: World,
    number: number,
    agent: Agent | ((process: Process) => Agent),
    options: Partial<RunnerOptions> | undefined,
    killAt: KillAt | undefined,
  ) {
    this.#world = here
    this.number = number
    this.#killAt = killAt
    const { promise, resolve } = Promise.withResolvers<void>()
    this.killed = promise
    this.#onKilled = resolve
    this.store = through(here.store, (name, args, call) => this.#call(name, args, call))
    const made = typeof agent === 'function' ? agent(this) : agent
    const clock: Clock = {
      now: () => here.clock.now(),
      after: (ms, callback) => here.clock.after(ms, () => void (this.alive && callback())),
    }
    this.runner = runner({ agent: made, store: this.store, clock, report: () => {}, ...options })
  }

  kill(): void {
    this.alive = false
    this.#onKilled()
  }

  async pause(ticks: number): Promise<void> {
    for (let i = 0; i < ticks; i++) {
      const at = this.alive ? ++this.#world.ticks : undefined
      if (this.#killAt && 'tick' in this.#killAt && this.#killAt.tick === at) this.kill()
      await tick()
      if (!this.alive) await never()
    }
  }

  async #call<T>(name: string, args: readonly unknown[], call: () => Promise<T>): Promise<T> {
    if (!this.alive) return never()
    const result = await (this.#counts(name) ? this.#write(name, args, call) : call())
    return this.alive ? result : never()
  }

  #counts(name: string): boolean {
    const counted = this.#killAt && 'write' in this.#killAt && this.#killAt.log === true
    return name === 'threads.commit' || name === 'journal.append' || (counted === true && name === 'runLog.append')
  }

  async #write<T>(name: string, args: readonly unknown[], call: () => Promise<T>): Promise<T> {
    const { writes, journal } = this.#world
    const here = this.#killAt && 'write' in this.#killAt && this.#killAt.write === writes.length + 1
    const at = here ? (this.#killAt as Extract<KillAt, { write: number }>) : undefined
    if (at && !at.done) {
      this.kill()
      return never()
    }
    writes.push(name)
    const result = await call()
    const added = journalIn(name, args)
    if (added) journal.push({ by: this, ...added, writes: writes.length })
    if (at) this.kill()
    return result
  }
}

/** What a write adds to a journal. */
function journalIn(name: string, args: readonly unknown[]): Pick<JournalWrite, 'runId' | 'entries'> | undefined {
  if (name === 'journal.append') return { runId: args[1] as string, entries: args[2] as readonly Json[] }
  return name === 'threads.commit' ? ((args[1] as ThreadCommit).journal ?? undefined) : undefined
}

/** The same store, with every call of a port passed through `call`. */
function through(
  store: Store,
  call: <T>(name: string, args: readonly unknown[], work: () => Promise<T>) => Promise<T>,
): Store {
  const port = (name: string, target: object) =>
    Object.fromEntries(
      Object.entries(target).map(([method, work]) => [
        method,
        (...args: unknown[]) => call(`${name}.${method}`, args, () => work(...args)),
      ]),
    )
  return {
    ...store,
    threads: port('threads', store.threads),
    leases: port('leases', store.leases),
    journal: port('journal', store.journal),
    records: port('records', store.records),
    runLog: { ...store.runLog, ...port('runLog', { append: store.runLog.append }) },
  } as unknown as Store
}

/** Reads what a run shows until it ends or its process is killed; `lag` is how many ticks an event needs to arrive. */
export async function read(
  events: AsyncIterable<AgentEvent>,
  process: Process,
  into: AgentEvent[] = [],
  lag = 0,
): Promise<AgentEvent[]> {
  const iterator = events[Symbol.asyncIterator]()
  for (;;) {
    const result = await Promise.race([iterator.next(), process.killed])
    for (let i = 0; i < lag; i++) await tick()
    if (!result || result.done || !process.alive) return into
    into.push(result.value)
  }
}
