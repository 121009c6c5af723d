import {
  type AgentEvent,
  type Clock,
  type ErrorInfo,
  type Json,
  KernelError,
  type RunLogStore,
  type Sink,
  type ThreadRef,
} from '@troupe/kernel'
import { sleep } from '@troupe/kernel/kit'
import { never } from './given-up.ts'
import type { RunOrder } from './run-order.ts'

/** An entry of the events of a run: what was asked, the mark of an attempt, an event, or why the run never began. */
export type EventEntry =
  | { readonly type: '~order'; readonly order: RunOrder }
  | { readonly type: '~attempt'; readonly mark: string }
  | { readonly type: '~refused'; readonly error: ErrorInfo }
  | MarkedEvent

/** An event with the mark of its attempt, so that a reader notices an attempt whose mark it has missed: a database that broke down may have lost the end of the log. */
export type MarkedEvent = AgentEvent & { readonly '~'?: string }

/** The id of the log that has the events of a run, beside the one that a server keeps of what its clients see. */
export function eventLogId(runId: string): string {
  return `events:${runId}`
}

/** How long events are gathered after a write. */
const BATCH_MS = 25
/** How far a run may get ahead of its log. */
const AHEAD = 1_024
/** Pauses while the store is away, before the attempt fails. */
const PAUSES_MS = [50, 150, 300, 500, 1_000, 1_000, 2_000, 2_000]

/** Where the log of a run is, and how it is written. */
export interface EventLogPlace {
  readonly runLog: RunLogStore
  readonly ref: ThreadRef
  readonly runId: string
  readonly clock: Clock
}

/** Reads the log of a run as it is now. Contract: `NOT_FOUND` if there is none. */
export async function readEvents({ runLog, ref, runId }: EventLogPlace, after = 0): Promise<readonly EventEntry[]> {
  const entries: EventEntry[] = []
  const { signal } = new AbortController()
  for await (const batch of runLog.follow(ref, eventLogId(runId), { after, live: false, signal })) {
    for (const { event } of batch) entries.push(event as unknown as EventEntry)
  }
  return entries
}

/** The event of an entry; undefined for any other entry. */
export function eventOf(entry: EventEntry): AgentEvent | undefined {
  if (entry.type === '~order' || entry.type === '~attempt' || entry.type === '~refused') return undefined
  const { '~': _, ...event } = entry
  return event as AgentEvent
}

/** Whether the run has ended in its log, or never began. */
export function isEnd(entry: EventEntry | undefined, runId: string): boolean {
  return entry?.type === '~refused' || (entry?.type === 'run-end' && entry.runId === runId)
}

/** Begins the log of a run with what it is asked to do, so that a reader that finds nothing more can order it again. */
export async function beginEvents({ runLog, ref, runId }: EventLogPlace, order: RunOrder): Promise<void> {
  await runLog.append(ref, eventLogId(runId), 0, [{ type: '~order', order } as unknown as Json])
}

/**
 * Writes the events of one attempt of a run, in batches.
 * Contract: an attempt marks a log that has more than the order, and from then on no attempt before it can write; what cannot be written fails
 * the attempt by `onFailure`, once, and nothing is written after that.
 */
export class EventLog implements Sink<AgentEvent> {
  readonly #place: EventLogPlace
  readonly #gone: AbortSignal
  readonly #onFailure: (error: unknown) => void
  #last: number
  #mark: string | undefined
  #pending: AgentEvent[] = []
  #writing: Promise<void> | undefined
  #hurry: (() => void) | undefined
  #closing = false
  #broken = false

  private constructor(place: EventLogPlace, gone: AbortSignal, onFailure: (error: unknown) => void, last: number) {
    this.#place = place
    this.#gone = gone
    this.#onFailure = onFailure
    this.#last = last
  }

  /** Takes over the log of a run. Contract: gives all that was written before. */
  static async takeOver(
    place: EventLogPlace,
    gone: AbortSignal,
    onFailure: (error: unknown) => void,
  ): Promise<{ readonly log: EventLog; readonly entries: readonly EventEntry[] }> {
    for (;;) {
      const entries = await readEvents(place)
      const log = new EventLog(place, gone, onFailure, entries.length)
      if (entries.length <= 1 || isEnd(entries.at(-1), place.runId)) return { log, entries }
      try {
        const mark = crypto.randomUUID().slice(0, 8)
        await log.#append([{ type: '~attempt', mark }], false)
        log.#mark = mark
        return { log, entries }
      } catch (error) {
        if (!KernelError.is(error, 'VERSION_CONFLICT')) throw error
      }
    }
  }

  get closed(): boolean {
    return this.#broken
  }

  write(event: AgentEvent): void | Promise<void> {
    if (this.#gone.aborted || this.#broken) return
    this.#pending.push(event)
    if (this.#closing) return
    this.#writing ??= this.#write()
    if (this.#pending.length >= AHEAD) return this.#writing
  }

  /** Stops writing batches and gives the events that are not written yet. Contract: what is under way has been written; an attempt that has failed never gets further. */
  async takeUnwritten(): Promise<readonly AgentEvent[]> {
    this.#closing = true
    this.#hurry?.()
    await this.#writing
    if (this.#broken) return never()
    const unwritten = this.#pending
    this.#pending = []
    return unwritten
  }

  /** Writes the last entries and closes the log. Contract: rejects if they cannot be written. */
  async close(entries: readonly EventEntry[]): Promise<void> {
    await this.#append([...(await this.takeUnwritten()), ...entries], true)
  }

  async #write(): Promise<void> {
    try {
      while (this.#pending.length > 0 && !this.#gone.aborted && !this.#closing) {
        const batch = this.#pending
        this.#pending = []
        await this.#append(batch, false)
        if (!this.#closing) await this.#gather()
      }
    } catch (error) {
      this.#broken = true
      this.#onFailure(error)
    } finally {
      this.#writing = undefined
    }
  }

  #gather(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#place.clock.after(BATCH_MS, resolve)
      this.#hurry = () => {
        cancel()
        resolve()
      }
    })
  }

  async #append(entries: readonly EventEntry[], close: boolean): Promise<void> {
    const { runLog, ref, runId, clock } = this.#place
    const mark = this.#mark
    const marked = mark === undefined ? entries : entries.map((entry) => ({ ...entry, '~': mark }))
    const texts = marked.map((entry) => JSON.stringify(entry))
    const after = this.#last
    for (let attempt = 0; ; attempt++) {
      try {
        await runLog.append(ref, eventLogId(runId), after, marked as unknown as readonly Json[], close, texts)
        this.#last = after + entries.length
        return
      } catch (error) {
        const pause = PAUSES_MS[attempt]
        if (pause === undefined || !KernelError.is(error) || !error.retryable) throw error
        await sleep(clock, pause)
      }
    }
  }
}
