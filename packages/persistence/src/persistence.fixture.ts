import {
  type Agent,
  type Callback,
  KernelError,
  type RecordStore,
  type Run,
  type Store,
  say,
  type ThreadRef,
} from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { openSpan, type RunHost, type RunSettings, startRun } from '@troupe/kernel/run'
import { type FakeClock, fakeClock } from '@troupe/testkit'
import { type MessageLifecycle, messageLifecycle } from './message-lifecycle.ts'
import type { Notification } from './record/notification.ts'
import type { FinishedRun, LifecycleOptions } from './recorder.ts'

export const ANN: ThreadRef = { app: 'app', user: 'ann', threadId: 't1' }
export const input = { messages: [{ id: 'u1', role: 'user', content: 'Hello' }] } as const

/** A fault of the store. */
export type Fault = 'fail' | 'hang' | 'busy' | 'read-only' | 'lost' | 'late' | undefined

/** A memory store whose records can be made to fail. */
export interface FaultyStore extends Store {
  fault: Fault
  /** Asked for each write, if there. */
  faultOf: ((write: number) => Fault) | undefined
  /** Commands of every write that was taken. */
  readonly written: Parameters<RecordStore['apply']>[1][]
  attempts: number
  /** Lets through what hangs. */
  release(): void
}

export function faultyStore(clock: FakeClock): FaultyStore {
  const inner = memoryStore({ clock })
  const held: (() => void)[] = []
  const store: FaultyStore = {
    ...inner,
    fault: undefined,
    faultOf: undefined,
    attempts: 0,
    written: [],
    release() {
      for (const go of held.splice(0)) go()
    },
    records: {
      ...inner.records,
      async apply(ref, commands) {
        const fault = store.faultOf ? store.faultOf(store.attempts) : store.fault
        store.attempts++
        const write = () => {
          store.written.push(commands)
          return inner.records.apply(ref, commands)
        }
        if (fault === 'fail') throw new Error('test: no connection')
        if (fault === 'busy') throw new KernelError('STORE_BUSY', 'test: busy', { retryable: true })
        if (fault === 'read-only') throw new KernelError('STORE_READ_ONLY', 'test: read-only')
        if (fault === 'hang') return new Promise(() => undefined)
        if (fault === 'late') return new Promise((resolve) => held.push(() => resolve(write())))
        if (fault !== 'lost') return write()
        await write()
        throw new KernelError('STORE_UNAVAILABLE', 'test: the answer was lost', { retryable: true })
      },
    },
  }
  return store
}

/** Lets everything happen that needs no time. */
export async function calm(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** An open thread, a lifecycle that records its runs, and everything that it publishes and reports. */
export interface RecordsHarness {
  readonly clock: FakeClock
  readonly store: FaultyStore
  readonly messages: MessageLifecycle
  readonly notifications: Notification[]
  readonly done: [FinishedRun, (KernelError | undefined)?][]
  readonly reports: KernelError[]
  run(agent: Agent, settings?: RunSettings, host?: RunHost): Run
}

export async function recordsHarness(
  options: Partial<LifecycleOptions> = {},
  others: (messages: MessageLifecycle) => readonly Callback[] = () => [],
): Promise<RecordsHarness> {
  const clock = fakeClock(1_000)
  const store = faultyStore(clock)
  await store.threads.open(ANN)
  const notifications: Notification[] = []
  const done: [FinishedRun, (KernelError | undefined)?][] = []
  const reports: KernelError[] = []
  const messages = messageLifecycle({
    store,
    clock,
    publish: (notification) => void notifications.push(notification),
    onDone: (...args) => void done.push(args),
    report: (error) => void reports.push(error),
    ...options,
  })
  const callbacks = [messages, ...others(messages)]
  let runs = 0
  return {
    clock,
    store,
    messages,
    notifications,
    done,
    reports,
    run: (agent, settings = {}, host = {}) => {
      const own = { session: ANN, runId: `run-${++runs}`, clock, callbacks, canInterrupt: true }
      return startRun(agent, input, { ...own, ...settings }, host)
    },
  }
}

/** An agent from a function. */
export function agentOf(run: Agent['run'], name = 'agent'): Agent {
  return { name, description: 'For tests.', run }
}

/** Calls a model that streams these words one by one. */
export const talker = (...words: readonly string[]): Agent =>
  agentOf(async function* (_input, ctx) {
    const request = { instruction: '', messages: [], tools: [], options: {}, step: 'model:0', idempotencyKey: 'k' }
    const span = openSpan(ctx, 'model', 'scripted', request)
    const id = ctx.ids.next()
    const usage = { inputTokens: 10, outputTokens: words.length }
    const message = { id, role: 'assistant', content: words.join('') } as const
    yield { type: 'message-start', messageId: id }
    for (const delta of words) yield { type: 'text-delta', messageId: id, delta }
    span?.end({ message, usage, finishReason: 'stop', model: 'scripted-1' })
    yield { type: 'message-end', message, usage }
  }, 'talker')

export const greeter: Agent = agentOf((_input, ctx) => say(ctx, 'Hi'), 'greeter')

/** The result of a run, or its error. */
export async function settled(run: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await run
  } catch (error) {
    return error
  }
}
