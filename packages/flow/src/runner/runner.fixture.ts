import {
  type Agent,
  type AgentEvent,
  type Answers,
  type Callback,
  type Checkpoint,
  KernelError,
  type Message,
  type Run,
  type RunResult,
  type Store,
  type ThreadRef,
  textOf,
} from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { answersTo, type FakeClock, fakeClock } from '@troupe/testkit'
import { type FlowRunner, type RunnerOptions, runner } from '../index.ts'
import { obedient } from './obedient.fixture.ts'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't' }
export const session: { readonly session: ThreadRef } = { session: ANN }

/** A result from outside. */
export const resultOf = (callId: string, content: string = `result ${callId}`): Message => ({
  id: `${callId}/result`,
  role: 'tool',
  callId,
  name: 'open',
  content,
})

export const user = (content: string, id: string = `user/${content}`): Message => ({ id, role: 'user', content })

/** A clock, a store and callbacks, and runners that use them. */
export interface Setup {
  readonly clock: FakeClock
  readonly store: Store
  readonly reports: KernelError[]
  /** The events that callbacks received. */
  readonly heard: AgentEvent[]
  /** Another runner on the same store. */
  runner(options?: Partial<RunnerOptions>): FlowRunner
  messages(ref?: ThreadRef): Promise<readonly Message[]>
  /** `user hi`, `assistant heard hi`, `assistant -> add:a`, `tool a: added a`. */
  lines(ref?: ThreadRef): Promise<readonly string[]>
  /** Answers to the open questions of the thread, by the call that asks. */
  answers(byCall: Answers): Promise<Answers>
  /** Everything of a thread that must stay the same when a run is refused. */
  snapshot(ref?: ThreadRef): Promise<unknown>
  /** Advances the clock in steps and lets the work that this starts settle. */
  pass(ms: number, step?: number): Promise<void>
}

export function setup(given: Partial<RunnerOptions> = {}, inner?: (clock: FakeClock) => Store): Setup {
  const clock = fakeClock()
  const store = inner?.(clock) ?? memoryStore({ clock })
  const reports: KernelError[] = []
  const heard: AgentEvent[] = []
  const ear: Callback = { name: 'ear', run: { onPart: (_, event) => void heard.push(event) } }
  const messages = async (ref: ThreadRef = ANN) =>
    (await store.threads.messages(ref, { limit: 1_000 })).map(({ message }) => message)
  return {
    clock,
    store,
    reports,
    heard,
    runner: (options = {}) =>
      runner({
        agent: obedient('Desk'),
        store,
        clock,
        callbacks: [ear],
        report: (error) => void reports.push(error),
        ...given,
        ...options,
      }),
    messages,
    lines: async (ref) => (await messages(ref)).map(line),
    answers: async (byCall) => answersTo((await store.threads.get(ANN))?.checkpoint?.interrupts, byCall),
    async snapshot(ref = ANN) {
      const { runId: _, ...thread } = (await store.threads.get(ref)) ?? {}
      return JSON.parse(JSON.stringify({ thread, messages: await messages(ref) }))
    },
    async pass(ms, step = 500) {
      for (let left = ms; left > 0; left -= step) {
        clock.advance(Math.min(left, step))
        await idle()
      }
    },
  }
}

function line(message: Message): string {
  const text = textOf(message.content)
  if (message.role === 'tool') return `tool ${message.callId}: ${text}`
  if (message.role !== 'assistant' || !message.toolCalls?.length) return `${message.role} ${text}`
  return `assistant -> ${message.toolCalls.map(({ id, name }) => `${name}:${id}`).join(' ')}`
}

/** Lets all pending work run that does not need outside events. */
export async function idle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** How an awaited run settles: its text, its outcome, or the code of its error. */
export const settled = (run: PromiseLike<RunResult>): Promise<string> =>
  Promise.resolve(run).then(
    ({ outcome, text }) => (outcome === 'complete' ? text : outcome),
    (error: unknown) => (KernelError.is(error) ? error.code : `foreign: ${String(error)}`),
  )

/** Reads a run up to an event of this type. */
export async function readTo(run: Run, type: AgentEvent['type']): Promise<AsyncIterator<AgentEvent>> {
  const iterator = run.eventsWithoutThrowing()[Symbol.asyncIterator]()
  for (;;) {
    const { value, done } = await iterator.next()
    if (done) throw new Error(`the run ended without ${type}`)
    if ((value as AgentEvent).type === type) return iterator
  }
}

/** Lists the faults of a history: a call with no result, with two, or with one in the wrong place. */
export function unsound(messages: readonly Message[], awaiting: readonly (string | undefined)[] = []): string[] {
  const wrong: string[] = []
  let due = new Set<string>()
  const close = () => {
    for (const id of due) if (!awaiting.includes(id)) wrong.push(`${id} has no result`)
    due = new Set()
  }
  const ids = new Set<string>()
  for (const message of messages) {
    if (ids.has(message.id)) wrong.push(`${message.id} twice`)
    ids.add(message.id)
    if (message.role === 'tool') {
      if (!due.delete(message.callId)) wrong.push(`${message.callId} has a result that belongs to no open call`)
      continue
    }
    if (due.size > 0) wrong.push(`${[...due].join()} without a result before ${message.role}`)
    close()
    if (message.role === 'assistant') due = new Set((message.toolCalls ?? []).map(({ id }) => id))
  }
  close()
  return wrong
}

/** A store that calls `tap` before every operation; an error that `tap` throws fails the operation. */
export function tapped(
  store: Store,
  tap: (operation: string, args: readonly unknown[]) => void | Promise<void>,
): Store {
  const wrap = <T extends object>(port: T, name: string): T =>
    new Proxy(port, {
      get(target, key) {
        const method: unknown = Reflect.get(target, key)
        if (typeof method !== 'function') return method
        return async (...args: readonly unknown[]) => {
          await tap(`${name}.${String(key)}`, args)
          return Reflect.apply(method, target, args)
        }
      },
    })
  return { ...store, threads: wrap(store.threads, 'threads'), leases: wrap(store.leases, 'leases') }
}

/** Makes a thread that waits: `add:a` is done, `ask:b` and `ask:c` have asked. */
export async function asking(
  text: string = 'call add:a ask:b ask:c',
  agent?: Agent,
): Promise<Setup & { desk: FlowRunner }> {
  const env = setup(agent ? { agent } : {})
  const desk = env.runner()
  await desk.query(text, { ...session, runId: 'R1' })
  return { ...env, desk }
}

export const checkpointOf = async ({ store }: Setup): Promise<Checkpoint | undefined> =>
  (await store.threads.get(ANN))?.checkpoint

/** Overwrites a checkpoint behind the back of the runner. */
export async function tamper({ store }: Setup, change: (checkpoint: Checkpoint) => unknown): Promise<void> {
  const { checkpoint } = (await store.threads.get(ANN)) ?? {}
  const { token } = await store.leases.acquire(ANN, { runId: 'tamper', ttlMs: 1_000 })
  await store.threads.commit(ANN, { checkpoint: change(checkpoint as Checkpoint) as Checkpoint }, token)
  await store.leases.release(ANN, token)
}

/** Counts the results of each call; those of parallel branches need not follow their messages. */
export function resultsPerCall(messages: readonly Message[]): { readonly [callId: string]: number } {
  const counts: Record<string, number> = {}
  for (const message of messages) {
    if (message.role === 'assistant') for (const { id } of message.toolCalls ?? []) counts[id] ??= 0
    if (message.role === 'tool') counts[message.callId] = (counts[message.callId] ?? 0) + 1
  }
  return counts
}
