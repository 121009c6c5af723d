import { type FlowRunner, type RunnerOptions, runner } from '@troupe/flow'
import type { Agent, AgentEvent, Clock, Json, Message, Store, ThreadCommit, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type FakeClock, fakeClock } from '@troupe/testkit'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't' }

/** A promise of its own, so that nothing keeps what waits for it. */
const never = () => new Promise<never>(() => {})

/** A process that can be killed: from then on its store never answers, and nothing that it does counts. */
export interface Process {
  /** Its number, from 1. */
  readonly number: number
  readonly runner: FlowRunner
  readonly alive: boolean
  kill(): void
  /** Lets others go on; in a process that was killed it never returns. */
  pause(ticks: number): Promise<void>
}

/** Where a process is killed: right before or after a write, or at a tick; both are numbered from 1. */
export type KillPoint = { readonly write: number; readonly done: boolean } | { readonly tick: number }

/** A write that changes a thread or its journal. */
export interface Write {
  readonly name: 'threads.commit' | 'journal.append'
  readonly by: Process
  /** The run whose journal it begins or extends. */
  readonly runId: string | undefined
  readonly entries: readonly Json[]
}

/** A store that outlives its processes. */
export interface World {
  readonly store: Store
  readonly clock: FakeClock
  readonly writes: readonly Write[]
  /** How often processes have paused. */
  readonly ticks: number
  /** Starts a process, which may be killed. */
  start(
    agent: Agent | ((process: Process) => Agent),
    options?: Partial<RunnerOptions>,
    killAt?: KillPoint | undefined,
  ): Process
  messages(): Promise<readonly Message[]>
  /** Lets the lease of a killed process expire. */
  expire(): void
}

const WRITES: readonly string[] = ['threads.commit', 'journal.append']

export function world(): World {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const writes: Write[] = []
  let [started, ticks] = [0, 0]
  const start: World['start'] = (agent, options, killAt) => {
    let alive = true
    const guarded: Through = async (name, args, call) => {
      if (!alive) return never()
      const counts = WRITES.includes(name)
      const at = counts && killAt && 'write' in killAt && killAt.write === writes.length + 1 ? killAt : undefined
      if (at && !at.done) {
        alive = false
        return never()
      }
      const result = await call()
      if (counts) writes.push({ name: name as Write['name'], by: process, ...journalIn(name, args) })
      if (at) alive = false
      return alive ? result : never()
    }
    const process: Process = {
      number: ++started,
      get runner() {
        return own
      },
      get alive() {
        return alive
      },
      kill() {
        alive = false
      },
      async pause(count) {
        for (let i = 0; i < count; i++) {
          if (alive) ticks++
          if (killAt && 'tick' in killAt && killAt.tick === ticks) alive = false
          await new Promise((resolve) => setImmediate(resolve))
          if (!alive) await never()
        }
      },
    }
    const made = typeof agent === 'function' ? agent(process) : agent
    const ownClock: Clock = {
      now: () => clock.now(),
      after: (ms, callback) => clock.after(ms, () => void (alive && callback())),
    }
    const own = runner({ agent: made, store: through(store, guarded), clock: ownClock, ...options })
    return process
  }
  return {
    store,
    clock,
    writes,
    get ticks() {
      return ticks
    },
    start,
    messages: async () => (await store.threads.messages(ANN, { limit: 1_000 })).map(({ message }) => message),
    expire: () => clock.advance(31_000),
  }
}

type Through = <T>(name: string, args: readonly unknown[], work: () => Promise<T>) => Promise<T>

/** What a write adds to a journal. */
function journalIn(name: string, args: readonly unknown[]): Pick<Write, 'runId' | 'entries'> {
  if (name === 'journal.append') return { runId: args[1] as string, entries: args[2] as readonly Json[] }
  const { journal } = args[1] as ThreadCommit
  return { runId: journal?.runId, entries: journal?.entries ?? [] }
}

/** The same store, with every call of a port passed through `call`. */
function through(store: Store, call: Through): Store {
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
  let reading = true
  const killed = (async () => {
    while (reading && process.alive) await new Promise((resolve) => setImmediate(resolve))
    return undefined
  })()
  try {
    for (;;) {
      const result = await Promise.race([iterator.next(), killed])
      for (let i = 0; i < lag; i++) await new Promise((resolve) => setImmediate(resolve))
      if (!result || result.done || !process.alive) return into
      into.push(result.value)
    }
  } finally {
    reading = false
  }
}
