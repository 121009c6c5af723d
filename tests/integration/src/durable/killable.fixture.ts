import { type FlowRunner, type RunnerOptions, runner } from '@troupe/flow'
import type { Agent, AgentEvent, Message, Store, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type FakeClock, fakeClock } from '@troupe/testkit'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't' }

const never: Promise<never> = new Promise(() => {})

/** A process that can be killed: from then on its store never answers, and nothing that it does counts. */
export interface Process {
  readonly runner: FlowRunner
  /** The store as this process sees it. */
  readonly store: Store
  readonly alive: boolean
  /** Settles when it has been killed. */
  readonly killed: Promise<void>
  kill(): void
}

/** Kills a process right before or after a write, which are numbered from 1. */
export interface KillAt {
  readonly write: number
  readonly done: boolean
  /** Whether writes to the run log count too. */
  readonly log?: boolean
}

/** A store that outlives its processes. */
export interface World {
  readonly store: Store
  readonly clock: FakeClock
  /** The writes that count, in order. */
  readonly writes: string[]
  start(agent: Agent, options?: Partial<RunnerOptions>, killAt?: KillAt): Process
  messages(): Promise<readonly Message[]>
  /** Lets the lease of a killed process expire. */
  expire(): void
}

export function world(): World {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const writes: string[] = []
  return {
    store,
    clock,
    writes,
    start(agent, options, killAt) {
      let alive = true
      const killed = Promise.withResolvers<void>()
      const kill = () => {
        alive = false
        killed.resolve()
      }
      const counts = (name: string) =>
        name === 'threads.commit' || name === 'journal.append' || (killAt?.log === true && name === 'runLog.append')
      const write = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
        const at = killAt?.write === writes.length + 1 ? killAt : undefined
        if (at && !at.done) {
          kill()
          return never
        }
        writes.push(name)
        const result = await call()
        if (at) kill()
        return result
      }
      const guarded = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
        if (!alive) return never
        const result = await (counts(name) ? write(name, call) : call())
        return alive ? result : never
      }
      const own = through(store, guarded)
      return {
        runner: runner({ agent, store: own, clock, report: () => {}, ...options }),
        store: own,
        get alive() {
          return alive
        },
        killed: killed.promise,
        kill,
      }
    },
    messages: async () => (await store.threads.messages(ANN, { limit: 1_000 })).map(({ message }) => message),
    expire: () => clock.advance(31_000),
  }
}

/** The same store, with every call of a port passed through `call`. */
function through(store: Store, call: <T>(name: string, work: () => Promise<T>) => Promise<T>): Store {
  const port = (name: string, target: object) =>
    Object.fromEntries(
      Object.entries(target).map(([method, work]) => [
        method,
        (...args: unknown[]) => call(`${name}.${method}`, () => work(...args)),
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

/** Reads what a run shows until it ends or its process is killed. */
export async function read(
  events: AsyncIterable<AgentEvent>,
  process: Process,
  into: AgentEvent[] = [],
): Promise<AgentEvent[]> {
  const iterator = events[Symbol.asyncIterator]()
  for (;;) {
    const next = iterator.next()
    const idle = (async () => {
      while (process.alive) await new Promise((resolve) => setImmediate(resolve))
      return undefined
    })()
    const result = await Promise.race([next, idle])
    if (!result || result.done) return into
    if (!process.alive) return into
    into.push(result.value)
  }
}
