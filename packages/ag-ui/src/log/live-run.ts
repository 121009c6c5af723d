import { EventType, type RunErrorEvent } from '@ag-ui/core'
import { type Clock, type Json, KernelError, pipe, type RunLogStore, type Sink, type ThreadRef } from '@troupe/kernel'
import type { AgUiEvent } from '../protocol.ts'
import { publicError, runError, unencodable } from '../translate/run-error.ts'
import { isTerminal } from '../write/open-kind.ts'
import { appendTo } from './log-writer.ts'
import { type Logged, Tail } from './tail.ts'
import { nextTurn } from './turn.ts'

/** How far a run may be ahead of its log. */
const AHEAD_EVENTS = 512
const AHEAD_BYTES = 131_072
/** How many times as long as the last batch took to store the next one is gathered, and how long at most: a store that is slow gets fewer and larger ones. */
const GATHER_TIMES = 8
const GATHER_MS = 50
/** How long an agent may take to let go of everything after its last event. */
const LETTING_GO_MS = 2_000

/** What a run in this process is made of. */
export interface LiveRunOptions {
  readonly ref: ThreadRef
  readonly runId: string
  readonly requestId: string
  readonly log: RunLogStore
  readonly clock: Clock
  readonly controller: AbortController
  readonly report: (error: KernelError) => void
  /** Opens the thread of the log, where it is not there. */
  readonly open: () => Promise<unknown>
}

/**
 * A run of this process: takes its events at the pace of the run log.
 * Contract: what stands in `tail` is in the log; the log is closed with exactly one terminal, which is shown when the agent has let go of the thread.
 */
export class LiveRun implements Sink<AgUiEvent> {
  readonly ref: ThreadRef
  readonly runId: string
  readonly tail: Tail = new Tail()
  /** The agent has let go, whatever became of the log; never rejects. */
  readonly ended: Promise<void>
  /** Somebody has asked it to stop. */
  cancelling = false
  /** The log could not be written to its end: who follows reads the log itself. */
  lost = false
  /** Sockets that follow; for those who cancel a run that nobody reads. */
  readers = 0
  readonly #options: LiveRunOptions
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers()
  /** Settles with the first event: the error of a run that never began, or nothing. */
  readonly #begun: PromiseWithResolvers<RunErrorEvent | undefined> = Promise.withResolvers()
  #told: (first: AgUiEvent) => AgUiEvent = (first) => first
  #seq = 0
  #pending: Logged[] = []
  #pendingBytes = 0
  #writing: Promise<void> | undefined
  #terminal: AgUiEvent | undefined
  #letGo: (() => void) | undefined
  #finished: Promise<void> | undefined
  /** What is pending is all there is. */
  #complete = false
  /** Somebody waits, so that there is no time to gather. */
  #hurried = false
  /** Of a producer that is too far ahead: settles when a batch is stored, so that it fills the next one before that goes. */
  #room: PromiseWithResolvers<void> | undefined
  /** Ends the pause in which events are gathered. */
  #goOn: (() => void) | undefined

  constructor(options: LiveRunOptions) {
    this.ref = options.ref
    this.runId = options.runId
    this.ended = this.#end.promise
    this.#options = options
  }

  /**
   * Contract: resolves when the first event is logged, as `told` wants it, or with the RUN_ERROR that is all there is; throws if it cannot be logged,
   * and then nothing runs.
   */
  begin(
    events: AsyncIterable<AgUiEvent>,
    told: (first: AgUiEvent) => AgUiEvent = (first) => first,
  ): Promise<RunErrorEvent | undefined> {
    this.#told = told
    pipe(events, this)
      .catch((error: unknown) => void this.#break(error))
      .then(() => this.#finish())
      .then(() => this.#end.resolve())
    return this.#begun.promise
  }

  get closed(): boolean {
    return this.lost
  }

  write(event: AgUiEvent): void | Promise<void> {
    if (this.#terminal) return
    if (this.lost) return refused(new KernelError('ABORTED', `run ${this.runId}: its log is lost`))
    if (this.#seq === 0) return this.#first(event)
    // Somebody who does not wait for the first event to be logged.
    if (this.tail.last === 0) return this.#begun.promise.then(() => this.write(event))
    if (isTerminal(event)) {
      this.#terminal = event
      this.#letGo = this.#options.clock.after(LETTING_GO_MS, () => void this.#finish())
      return
    }
    const wrong = this.#take(event)
    if (wrong) return refused(wrong)
    if (this.#pending.length >= AHEAD_EVENTS || this.#pendingBytes >= AHEAD_BYTES) {
      this.#room ??= Promise.withResolvers()
      this.#hurry()
      return this.#room.promise
    }
  }

  /** Contract: the run ends as cancelled, by way of its own terminal. */
  cancel(reason: KernelError = new KernelError('ABORTED', `run ${this.runId}: cancelled`)): void {
    this.cancelling = true
    this.#options.controller.abort(reason)
  }

  async #first(given: AgUiEvent): Promise<void> {
    if (given.type === EventType.RUN_ERROR) {
      this.#terminal = given
      this.#begun.resolve(given)
      return
    }
    try {
      const event = this.#told(given)
      const json = JSON.stringify(event)
      const logged = { seq: ++this.#seq, event, json }
      await this.#append([logged], false).catch(async (error: unknown) => {
        if (!KernelError.is(error, 'NOT_FOUND')) throw error
        await this.#options.open()
        await this.#append([logged], false)
      })
      this.tail.push([logged])
      this.#begun.resolve(undefined)
    } catch (error) {
      this.lost = true
      this.#options.controller.abort(error)
      this.#begun.reject(error)
      throw error
    }
  }

  /** A failure that the agent did not tell itself, in the words of the protocol. */
  #break(cause: unknown): void {
    if (this.#terminal || this.lost) return
    const { controller, requestId, report } = this.#options
    const error = KernelError.from(cause)
    report(error)
    controller.abort(error)
    this.#terminal =
      error.code === 'ENCODING_ERROR' ? unencodable(requestId) : runError(publicError(error), { requestId })
  }

  /** The agent has let go, or takes too long to. */
  #finish(): Promise<void> {
    this.#finished ??= this.#close()
    return this.#finished
  }

  async #close(): Promise<void> {
    const { requestId } = this.#options
    this.#letGo?.()
    if (!this.#terminal) this.#break(new KernelError('AGENT_FAILED', 'the stream has no terminal event'))
    if (this.#seq === 0) this.#begun.resolve(this.#terminal as RunErrorEvent)
    else if (!this.lost) {
      this.#complete = true
      const wrong = this.#take(this.#terminal as AgUiEvent)
      if (wrong) this.#take(unencodable(requestId))
      this.#hurry()
      await this.#writing
    }
    this.tail.close()
  }

  /** Contract: gives what is wrong with an event, instead of throwing in the middle of an agent. */
  #take(event: AgUiEvent): KernelError | undefined {
    let json: string
    try {
      json = JSON.stringify(event)
    } catch (cause) {
      const error = new KernelError('ENCODING_ERROR', `run ${this.runId}: an event is no JSON`, { cause })
      this.#break(error)
      return error
    }
    this.#pending.push({ seq: ++this.#seq, event, json })
    this.#pendingBytes += json.length
    this.#writing ??= this.#write().catch((error: unknown) => this.#fail(error))
    return undefined
  }

  /** Contract: the first event goes at once, and what comes until the next turn of the event loop, or while events are gathered, goes together. */
  async #write(): Promise<void> {
    const { clock } = this.#options
    while (this.#pending.length > 0) {
      const batch = this.#pending
      this.#pending = []
      this.#pendingBytes = 0
      const from = clock.now()
      await this.#append(batch, this.#complete)
      const took = clock.now() - from
      this.tail.push(batch)
      this.#makeRoom()
      if (!this.#complete) await nextTurn()
      await this.#gather(took * GATHER_TIMES)
    }
    this.#writing = undefined
    this.#hurried = false
  }

  async #gather(ms: number): Promise<void> {
    if (this.#hurried || ms <= 0) return
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(Math.min(ms, GATHER_MS), resolve)
      this.#goOn = () => {
        cancel()
        resolve()
      }
    })
    this.#goOn = undefined
  }

  /** What is pending goes without a pause. */
  #hurry(): void {
    this.#hurried = true
    this.#goOn?.()
  }

  #makeRoom(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  #append(batch: readonly Logged[], close: boolean): Promise<number> {
    const events = batch.map(({ event }) => event as unknown as Json)
    return appendTo(this.#options, this.tail.last, events, close)
  }

  /** The log has another writer, is gone, or cannot be written: the run stops. */
  #fail(cause: unknown): void {
    const { log, ref, runId, controller, report, requestId } = this.#options
    const error = new KernelError('RUN_LOG_FAILED', 'The run was stopped because its events could not be stored.', {
      cause,
    })
    this.lost = true
    this.#pending = []
    this.#makeRoom()
    report(error)
    controller.abort(error)
    // What can still be said is said, so that nobody waits for the rest; else whoever follows finds out.
    log
      .append(ref, runId, this.tail.last, [runError(error, { requestId }) as unknown as Json], true)
      .catch(() => undefined)
      .finally(() => this.tail.close())
  }
}

/** What a write gives that is not taken, awaited or not. */
function refused(error: KernelError): Promise<void> {
  const promise = Promise.reject(error)
  promise.catch(() => undefined)
  return promise
}
