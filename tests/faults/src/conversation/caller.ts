import { type FlowRunner, runner } from '@troupe/flow'
import {
  type AgentEvent,
  type Callback,
  type Interrupt,
  type Json,
  KernelError,
  type Message,
  type Run,
  type RunLogStore,
  type Store,
  type ThreadRef,
} from '@troupe/kernel'
import { messageOf } from '@troupe/kernel/history'
import { logOf } from '../checks/snapshot.ts'
import { bookkeeper } from './bookkeeper.ts'
import type { CaseEvent } from './case-event.ts'
import type { CaseSpans } from './case-spans.ts'
import type { Effects } from './effects.ts'

/** The parts that a caller works with. */
export interface CallerOptions {
  readonly store: Store
  readonly ref: ThreadRef
  readonly effects: Effects
  readonly callbacks: readonly Callback[]
  /** Counts the spans of its runs. */
  readonly spans: CaseSpans
  /** The prefix of its run ids. */
  readonly name: string
  readonly record: (event: CaseEvent) => void
  readonly report?: (error: KernelError) => void
  readonly limits?: Parameters<typeof runner>[0]['limits']
}

type Ended = Extract<CaseEvent, { readonly type: 'ended' }>

/** Talks to an agent in a thread as a server would: reads every event, keeps a run log and records what it may rely on. */
export class Caller {
  readonly #options: CallerOptions
  readonly #runner: FlowRunner
  #runs = 0

  constructor(options: CallerOptions) {
    this.#options = options
    const { store, effects, callbacks, spans, limits, report } = options
    this.#runner = runner({
      agent: bookkeeper(effects, 1, [spans.tracing.handler]),
      store,
      callbacks: [spans.tracing, ...callbacks],
      busy: 'queue',
      pending: 'drop',
      limits: { queueMs: 10_000, leaseMs: LEASE_MS, pollMs: 50, ...limits },
      ...(report && { report }),
    })
  }

  /** Says something, answers the questions that come back, and delivers what was ordered. */
  async converse(script: string): Promise<Ended | undefined> {
    const asked: Interrupt[] = []
    let end = await this.say(script, asked)
    if (end?.outcome === 'interrupted') end = await this.answer(asked)
    if (end && end.openCallIds.length > 0) end = await this.deliver(end.openCallIds)
    return end
  }

  say(script: string, asked: Interrupt[] = []): Promise<Ended | undefined> {
    const runId = this.#nextId()
    const run = this.#runner.query(script, { session: this.#options.ref, runId })
    return this.#follow(run, script, [{ id: `${runId}/input:0`, role: 'user', content: script }], asked)
  }

  answer(asked: readonly Pick<Interrupt, 'id'>[]): Promise<Ended | undefined> {
    const answers = Object.fromEntries(asked.map(({ id }) => [id, { approved: true }]))
    return this.#follow(
      this.#runner.resume(answers, { session: this.#options.ref, runId: this.#nextId() }),
      'an answer',
      [],
      [],
    )
  }

  deliver(callIds: readonly string[]): Promise<Ended | undefined> {
    const runId = this.#nextId()
    const messages = callIds.map(
      (callId, i): Message => ({ id: `${runId}/${i}`, role: 'tool', callId, name: 'order', content: 'delivered' }),
    )
    return this.#follow(
      this.#runner.run({ messages }, { session: this.#options.ref, runId }),
      'a delivery',
      messages,
      [],
    )
  }

  /** Goes on with the run of the thread whose process died; what is in its log was shown. */
  async continue(runId: string): Promise<Ended | undefined> {
    const { store, ref } = this.#options
    const shown = (await logOf(store, ref, runId)).map(({ event }) => event as AgentEvent)
    const given = (await store.threads.messages(ref, { limit: 1_000 })).filter((stored) => stored.runId === runId)
    const said = shown.flatMap((event) => messageOf(event) ?? [])
    const run = this.#runner.continue(ref, { runId, shown, busy: 'queue' })
    return this.#follow(run, 'a continuation', [...given.map(({ message }) => message), ...said], [], shown.length)
  }

  #nextId(): string {
    return `${this.#options.name}-${++this.#runs}`
  }

  async #follow(
    run: Run,
    what: string,
    given: readonly Message[],
    asked: Interrupt[],
    logged = 0,
  ): Promise<Ended | undefined> {
    const { record, store, ref } = this.#options
    const { runId } = run
    const messages: Message[] = []
    for (const message of given) show(messages, message)
    const log = new LogWriter(store.runLog, ref, runId, logged)
    let end: Ended | undefined
    record({ type: 'began', runId, what, gives: given.length > 0 })
    try {
      for await (const event of run.eventsWithoutThrowing()) {
        const message = messageOf(event)
        if (event.type === 'message-end' && event.dropped) takeBack(messages, event.message.id)
        if (message) {
          show(messages, message)
          record({ type: 'said', runId, message })
        }
        if (event.type === 'action' && event.action.type === 'interrupt') {
          asked.push(...event.action.interrupts)
          record({ type: 'asked', runId, messages })
        }
        if (event.type === 'run-end') {
          const { outcome, text, openCallIds = [], error } = event
          end = { type: 'ended', runId, outcome, text, openCallIds, messages, ...(error && { error }) }
          record(end)
        }
        await log.add(event)
      }
      if (!end) await run
    } catch (error) {
      record({ type: 'refused', runId, code: KernelError.from(error, 'UNCODED').code })
    }
    return end
  }
}

/** Adds a message that was shown. Contract: a process that lost its lease ends its calls for its readers, and their ends come again with what the run made of them. */
function show(messages: Message[], message: Message): void {
  const former = messages.findIndex(({ id }) => id === message.id)
  if (former < 0) messages.push(message)
  else messages[former] = message
}

/** Removes a message that was taken back: a process that lost its lease had shown it as cut off. */
function takeBack(messages: Message[], taken: string): void {
  const at = messages.findIndex(({ id }) => id === taken)
  if (at >= 0) messages.splice(at, 1)
}

/** How long the thread of a dead process stays leased. */
export const LEASE_MS = 400

/** Limits of a caller that must keep its thread, even on a busy machine. */
export const LONG_LEASE: NonNullable<CallerOptions['limits']> = { leaseMs: 30_000 }

/** The events after which the log is written. */
const FLUSHING: readonly string[] = ['message-end', 'tool-end', 'action', 'run-end']

/** Appends the events of a run to its log, and stops when the log refuses it as the writer. */
class LogWriter {
  readonly #log: RunLogStore
  readonly #ref: ThreadRef
  readonly #runId: string
  #events: Json[] = []
  #last: number
  #failed = false

  constructor(log: RunLogStore, ref: ThreadRef, runId: string, last: number) {
    this.#last = last
    this.#log = log
    this.#ref = ref
    this.#runId = runId
  }

  async add(event: AgentEvent): Promise<void> {
    this.#events.push(event as Json)
    if (this.#failed || !FLUSHING.includes(event.type)) return
    const events = this.#events
    this.#events = []
    try {
      this.#last = await this.#log.append(this.#ref, this.#runId, this.#last, events, event.type === 'run-end')
    } catch {
      this.#failed = true
    }
  }
}
