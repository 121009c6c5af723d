import { type FlowRunner, type RunnerOptions, runner } from '@troupe/flow'
import type { Agent, AgentEvent, Message, Store, ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type FakeClock, fakeClock } from '@troupe/testkit'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't' }

const never: Promise<never> = new Promise(() => {})

/** A process that can be killed: from then on its store never answers, and nothing that it does counts. */
export interface Process {
  readonly runner: FlowRunner
  readonly alive: boolean
  kill(): void
}

/** A store that outlives its processes. */
export interface World {
  readonly store: Store
  readonly clock: FakeClock
  /** The writes that change a thread or its journal, in order. */
  readonly writes: string[]
  /** Starts a process; `killAt` kills it right before or after a write, which are numbered from 1. */
  start(
    agent: Agent,
    options?: Partial<RunnerOptions>,
    killAt?: { readonly write: number; readonly done: boolean },
  ): Process
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
      const guarded = async <T>(name: string, call: () => Promise<T>): Promise<T> => {
        if (!alive) return never
        const dies = isWrite(name) && killAt?.write === writes.length + 1
        alive = !dies || killAt.done
        if (!alive) return never
        if (isWrite(name)) writes.push(name)
        const result = await call()
        alive &&= !dies
        return alive ? result : never
      }
      return {
        runner: runner({ agent, store: through(store, guarded), clock, ...options }),
        get alive() {
          return alive
        },
        kill() {
          alive = false
        },
      }
    },
    messages: async () => (await store.threads.messages(ANN, { limit: 1_000 })).map(({ message }) => message),
    expire: () => clock.advance(31_000),
  }
}

/** Whether a call changes a thread or its journal. */
function isWrite(name: string): boolean {
  return name === 'threads.commit' || name === 'journal.append'
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
