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
import { bookkeeper } from './bookkeeper.ts'
import type { Line } from './case-event.ts'
import type { Effects } from './effects.ts'

/** What a caller works with. */
export interface CallerParts {
  readonly store: Store
  readonly ref: ThreadRef
  readonly effects: Effects
  readonly callbacks: readonly Callback[]
  /** In front of the ids of its runs. */
  readonly name: string
  readonly tell: (line: Line) => void
  readonly report?: (error: KernelError) => void
  readonly limits?: Parameters<typeof runner>[0]['limits']
}

type Ended = Extract<Line, { readonly type: 'ended' }>

/** Somebody who talks to an agent in a thread as a server would: reads every event, keeps a log, tells what it may rely on. */
export class Caller {
  readonly #parts: CallerParts
  readonly #runner: FlowRunner
  #runs = 0

  constructor(parts: CallerParts) {
    this.#parts = parts
    const { store, effects, callbacks, limits, report } = parts
    this.#runner = runner({
      agent: bookkeeper(effects),
      store,
      callbacks,
      busy: 'queue',
      pending: 'drop',
      limits: { queueMs: 10_000, leaseMs: LEASE_MS, pollMs: 50, ...limits },
      ...(report && { report }),
    })
  }

  /** Says something, answers the questions that come back, and delivers what was ordered. */
  async play(script: string): Promise<Ended | undefined> {
    const asked: Interrupt[] = []
    let end = await this.say(script, asked)
    if (end?.outcome === 'interrupted') end = await this.answer(asked)
    if (end && end.openCallIds.length > 0) end = await this.deliver(end.openCallIds)
    return end
  }

  say(script: string, asked: Interrupt[] = []): Promise<Ended | undefined> {
    const runId = this.#nextId()
    const run = this.#runner.query(script, { session: this.#parts.ref, runId })
    return this.#listen(run, script, [{ id: `${runId}/input:0`, role: 'user', content: script }], asked)
  }

  answer(asked: readonly Pick<Interrupt, 'id'>[]): Promise<Ended | undefined> {
    const answers = Object.fromEntries(asked.map(({ id }) => [id, { approved: true }]))
    return this.#listen(
      this.#runner.resume(answers, { session: this.#parts.ref, runId: this.#nextId() }),
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
    return this.#listen(this.#runner.run({ messages }, { session: this.#parts.ref, runId }), 'a delivery', messages, [])
  }

  #nextId(): string {
    return `${this.#parts.name}-${++this.#runs}`
  }

  async #listen(run: Run, what: string, given: readonly Message[], asked: Interrupt[]): Promise<Ended | undefined> {
    const { tell, store, ref } = this.#parts
    const { runId } = run
    const messages = [...given]
    const log = new LogWriter(store.runLog, ref, runId)
    let end: Ended | undefined
    tell({ type: 'began', runId, what })
    try {
      for await (const event of run.eventsWithoutThrowing()) {
        const message = messageOf(event)
        if (message) {
          messages.push(message)
          tell({ type: 'said', runId, message })
        }
        if (event.type === 'action' && event.action.type === 'interrupt') {
          asked.push(...event.action.interrupts)
          tell({ type: 'asked', runId, messages })
        }
        if (event.type === 'run-end') {
          const { outcome, text, openCallIds = [], error } = event
          end = { type: 'ended', runId, outcome, text, openCallIds, messages, ...(error && { error }) }
          tell(end)
        }
        await log.take(event)
      }
      if (!end) await run
    } catch (error) {
      tell({ type: 'refused', runId, code: KernelError.from(error, 'UNCODED').code })
    }
    return end
  }
}

/** How long the thread of a dead process stays taken. */
export const LEASE_MS = 400

/** Limits of whoever nobody wants to take the thread from, on a machine that is busy. */
export const UNHURRIED: NonNullable<CallerParts['limits']> = { leaseMs: 30_000 }

/** Events after which a log is written. */
const RESTS: readonly string[] = ['message-end', 'tool-end', 'action', 'run-end']

/** Keeps the events of a run as they are shown; gives up when it is not the writer any more. */
class LogWriter {
  readonly #log: RunLogStore
  readonly #ref: ThreadRef
  readonly #runId: string
  #events: Json[] = []
  #last = 0
  #failed = false

  constructor(log: RunLogStore, ref: ThreadRef, runId: string) {
    this.#log = log
    this.#ref = ref
    this.#runId = runId
  }

  async take(event: AgentEvent): Promise<void> {
    this.#events.push(event as Json)
    if (this.#failed || !RESTS.includes(event.type)) return
    const events = this.#events
    this.#events = []
    try {
      this.#last = await this.#log.append(this.#ref, this.#runId, this.#last, events, event.type === 'run-end')
    } catch {
      this.#failed = true
    }
  }
}
