import { EventType, type RunErrorEvent } from '@ag-ui/core'
import { type Clock, type Json, KernelError, type RunLogStore, type Sink, type ThreadRef } from '@troupe/kernel'
import { nextMacrotask, pipe } from '@troupe/kernel/kit'
import { compactLog } from '../log/compact-log.ts'
import { LogPacker } from '../log/log-packer.ts'
import type { Logged } from '../log/logged.ts'
import { type AgUiEvent, isTerminal } from '../protocol.ts'
import { publicError, runError, unencodable } from '../translate/run-error.ts'
import { appendToLog } from './append-to-log.ts'
import type { Beat } from './beat.ts'
import { lostEnd } from './lost-end.ts'
import { isContinued, RUN_CONTINUED } from './run-continued.ts'
import { Tail } from './tail.ts'

/** How far a run may get ahead of its log. */
const AHEAD_EVENTS = 512
const AHEAD_BYTES = 131_072
/** The most characters of a compacted log that a run keeps in memory; a longer one is read again when the run has ended. */
const PACKED_CHARS = 1_048_576
/** How long an agent may take to release its thread after its last event. */
const RELEASE_MS = 2_000

interface RunLogOptions {
  /** The run whose events are written. */
  readonly run: { readonly ref: ThreadRef; readonly runId: string; stop(reason: KernelError): void }
  readonly store: RunLogStore
  readonly clock: Clock
  /** The moments at which events are written. */
  readonly beat: Beat
  readonly requestId: string
  readonly report: (error: KernelError) => void
  /** Creates the thread of the log if it does not exist. */
  readonly open: () => Promise<unknown>
}

/**
 * Writes the events of a run to its log, and takes them at the pace of the log.
 * Contract: every event in `tail` is in the log; the log is closed with exactly one terminal, which is shown after the agent has released the thread.
 */
export class RunLog implements Sink<AgUiEvent> {
  readonly tail: Tail = new Tail()
  /** Resolves when the agent has released its thread, even if the log failed; never rejects. */
  readonly ended: Promise<void>
  /** The log could not be written to its end: followers read the log itself. */
  lost = false
  /** The terminal of a log that could not be closed, for followers in this process. */
  unstored: AgUiEvent | undefined
  readonly #options: RunLogOptions
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers()
  /** Settles with the first event: with the error of a run that never began, else with undefined. */
  readonly #begun: PromiseWithResolvers<RunErrorEvent | undefined> = Promise.withResolvers()
  /** The log as it will be compacted; none if this process does not have all of it. */
  #packer: LogPacker | undefined = new LogPacker(PACKED_CHARS)
  #mapFirst: (first: AgUiEvent) => AgUiEvent = (first) => first
  #seq = 0
  #pending: Logged[] = []
  #pendingBytes = 0
  #writing: Promise<void> | undefined
  #terminal: AgUiEvent | undefined
  #letGo: (() => void) | undefined
  #finished: Promise<void> | undefined
  /** No event comes after the pending ones. */
  #complete = false
  /** The store needs longer than memory does: events are gathered for it. */
  #slow = false
  /** A writer waits, so the pending events are written without gathering more. */
  #hurried = false
  /** Holds a producer that is too far ahead: resolves when a batch is stored, so that the producer fills the next one before it is written. */
  #room: PromiseWithResolvers<void> | undefined
  /** Ends the pause in which events are gathered. */
  #goOn: (() => void) | undefined

  constructor(options: RunLogOptions) {
    this.ended = this.#end.promise
    this.#options = options
  }

  /**
   * Starts the run. Contract: resolves when the first event, passed through `mapFirst`, is logged, or with the RUN_ERROR of a run that never began;
   * rejects if the event cannot be logged, and then nothing runs.
   */
  begin(
    run: () => AsyncIterable<AgUiEvent>,
    mapFirst: (first: AgUiEvent) => AgUiEvent,
  ): Promise<RunErrorEvent | undefined> {
    this.#mapFirst = mapFirst
    this.#read(run)
      .catch((error: unknown) => void this.#break(error))
      .then(() => this.#finish())
      .then(() => this.#end.resolve())
    return this.#begun.promise
  }

  /**
   * Goes on with a log that another process began.
   * Contract: called before the first event; marks the place, so that the other process cannot write any more; rejects with `VERSION_CONFLICT` if the log does not end at `last`.
   */
  async goOn(last: number): Promise<void> {
    const logged = { seq: last + 1, event: RUN_CONTINUED, json: JSON.stringify(RUN_CONTINUED) }
    const { store, run, clock } = this.#options
    await appendToLog(store, run, clock, last, [logged], false)
    this.#seq = logged.seq
    this.#packer = undefined
    this.tail.beginAfter(last)
    this.tail.push([logged])
    this.#begun.resolve(undefined)
  }

  /** Leaves the log and its run to other processes, which go on with both. */
  leave(): void {
    if (this.lost || this.#terminal) return
    const { run } = this.#options
    this.lost = true
    this.#pending = []
    this.#makeRoom()
    run.stop(new KernelError('LEASE_LOST', `run ${run.runId}: other processes go on with it`))
    this.tail.close()
  }

  /** Makes the log shorter that has ended. Contract: called once, after `ended`; leaves alone what was not written to its end. */
  async compact(): Promise<void> {
    const { store, run } = this.#options
    const packer = this.#packer
    this.#packer = undefined
    if (this.lost || this.#seq === 0) return
    // Readers get the end of the run first.
    await nextMacrotask()
    await compactLog(store, run.ref, run.runId, packer)
  }

  async #read(run: () => AsyncIterable<AgUiEvent>): Promise<void> {
    await pipe(run(), this)
  }

  get closed(): boolean {
    return this.lost
  }

  write(event: AgUiEvent): void | Promise<void> {
    if (this.#terminal) return
    if (this.lost) return refused(new KernelError('ABORTED', `run ${this.#options.run.runId}: its log is lost`))
    if (this.#seq === 0) return this.#first(event)
    // The writer did not wait until the first event was logged.
    if (this.tail.last === 0) return this.#begun.promise.then(() => this.write(event))
    if (isTerminal(event)) {
      this.#terminal = event
      this.#letGo = this.#options.clock.after(RELEASE_MS, () => void this.#finish())
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

  async #first(given: AgUiEvent): Promise<void> {
    if (given.type === EventType.RUN_ERROR) {
      this.#terminal = given
      this.#begun.resolve(given)
      return
    }
    try {
      const event = this.#mapFirst(given)
      const json = JSON.stringify(event)
      const logged = { seq: ++this.#seq, event, json }
      await this.#append([logged], false).catch(async (error: unknown) => {
        if (!KernelError.is(error, 'NOT_FOUND')) throw error
        await this.#options.open()
        await this.#append([logged], false)
      })
      this.#show([logged])
      this.#begun.resolve(undefined)
    } catch (error) {
      this.lost = true
      this.#options.run.stop(KernelError.from(error))
      this.#begun.reject(error)
      throw error
    }
  }

  /** Ends the run with a RUN_ERROR for a failure that the agent itself did not show. */
  #break(cause: unknown): void {
    if (this.#terminal || this.lost) return
    const { run, requestId, report } = this.#options
    const error = KernelError.from(cause)
    report(error)
    run.stop(error)
    this.#terminal =
      error.code === 'ENCODING_ERROR' ? unencodable(requestId) : runError(publicError(error), { requestId })
  }

  /** Closes the log once: when the agent has released its thread, or takes too long to. */
  #finish(): Promise<void> {
    this.#finished ??= this.#close()
    return this.#finished
  }

  async #close(): Promise<void> {
    const { requestId } = this.#options
    this.#letGo?.()
    if (!this.#terminal)
      this.#break(new KernelError('AGENT_FAILED', 'agent: the stream ended without a terminal event'))
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

  /** Queues an event. Contract: returns the error of an event that cannot be encoded, instead of throwing inside an agent. */
  #take(event: AgUiEvent): KernelError | undefined {
    let json: string
    try {
      json = JSON.stringify(event)
    } catch (cause) {
      const error = new KernelError('ENCODING_ERROR', `run ${this.#options.run.runId}: an event is not JSON`, { cause })
      this.#break(error)
      return error
    }
    this.#pending.push({ seq: ++this.#seq, event, json })
    this.#pendingBytes += json.length
    this.#writing ??= this.#write().catch((error: unknown) => this.#fail(error))
    return undefined
  }

  /** Contract: events that come until the next macrotask, or while events are gathered, are written together. */
  async #write(): Promise<void> {
    while (this.#pending.length > 0) {
      if (this.#slow && !this.#hurried) await this.#gather()
      const batch = this.#pending
      this.#pending = []
      this.#pendingBytes = 0
      const later = this.#later()
      const complete = this.#complete
      await this.#append(batch, complete)
      this.#show(batch)
      this.#makeRoom()
      if (!complete) this.#slow = await later()
    }
    this.#writing = undefined
    this.#hurried = false
  }

  /** Shows readers what is in the log. */
  #show(batch: readonly Logged[]): void {
    this.tail.push(batch)
    for (const { event, json = '' } of batch) this.#packer?.add(event, json.length)
  }

  /** Waits for the moment at which the runs of this process write. */
  async #gather(): Promise<void> {
    await new Promise<void>((resolve) => {
      const leave = this.#options.beat.next(resolve)
      this.#goOn = () => {
        leave()
        resolve()
      }
    })
    this.#goOn = undefined
  }

  /** Writes the pending events without a pause. */
  #hurry(): void {
    this.#hurried = true
    this.#goOn?.()
  }

  #makeRoom(): void {
    this.#room?.resolve()
    this.#room = undefined
  }

  /** Contract: what the database server has lost of the log is written again. */
  async #append(batch: readonly Logged[], close: boolean): Promise<void> {
    const { store, run, clock } = this.#options
    try {
      await appendToLog(store, run, clock, this.tail.last, batch, close)
    } catch (error) {
      if (!KernelError.is(error, 'VERSION_CONFLICT')) throw error
      const lost = await lostEnd(store, run, this.tail)
      const [first] = lost ?? []
      if (!lost || !first) throw error
      await appendToLog(store, run, clock, first.seq - 1, [...lost, ...batch], close)
    }
  }

  /** Waits until the next macrotask. Contract: gives whether that had come before the wait began. */
  #later(): () => Promise<boolean> {
    let come = false
    const next = nextMacrotask().then(() => {
      come = true
    })
    return async () => {
      const before = come
      await next
      return before
    }
  }

  /** Stops the run because another process goes on with it, or because its log is gone or cannot be written. */
  async #fail(cause: unknown): Promise<void> {
    const { store, run, report } = this.#options
    const taken = KernelError.is(cause, 'VERSION_CONFLICT') && (await isContinued(store, run, this.tail.last))
    const error = taken
      ? new KernelError('LEASE_LOST', `run ${run.runId}: another process goes on with it`, { cause })
      : new KernelError('RUN_LOG_FAILED', 'The run was stopped because its events could not be stored.', { cause })
    this.lost = true
    this.#pending = []
    this.#makeRoom()
    report(error)
    run.stop(error)
    if (!taken) await this.#closeWith(error)
    this.tail.close()
  }

  /** Tries to close the log with an error, so that no follower waits for more; otherwise followers here are told, and others detect the lost run themselves. */
  async #closeWith(error: KernelError): Promise<void> {
    const { store, run, requestId } = this.#options
    const terminal = runError(error, { requestId })
    try {
      await store.append(run.ref, run.runId, this.tail.last, [terminal as unknown as Json], true)
    } catch (cause) {
      // The log is gone with its thread, or another process writes it.
      if (KernelError.is(cause, 'NOT_FOUND') || KernelError.is(cause, 'VERSION_CONFLICT')) return
      this.unstored = terminal
    }
  }
}

/** A rejected promise that is safe to ignore. */
function refused(error: KernelError): Promise<void> {
  const promise = Promise.reject(error)
  promise.catch(() => undefined)
  return promise
}
