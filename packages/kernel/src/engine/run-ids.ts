import type { EventStamp } from '../data/event.ts'
import type { Message, Usage } from '../data/message.ts'
import { CallIds } from './call-ids.ts'

/** The tool call around a nested run. */
export interface ParentCall {
  readonly runId: string
  readonly callId: string
  readonly spanId: string
  readonly origin: string
  /** Adds the tokens of the nested run to what is around it. */
  addUsage(usage: Usage): void
}

/** Generates the ids and stamps of one run. */
export class RunIds {
  /** The messages before the run. */
  history: readonly Message[] = []
  /** Whether these are all messages of the thread. */
  whole = true
  readonly #runId: string
  readonly #parent: ParentCall | undefined
  #counters: Map<string, number> | undefined
  #calls: CallIds | undefined

  constructor(runId: string, parent: ParentCall | undefined) {
    this.#runId = runId
    this.#parent = parent
  }

  next(step: string): string {
    this.#counters ??= new Map()
    const count = (this.#counters.get(step) ?? 0) + 1
    this.#counters.set(step, count)
    return `${this.#runId}/${step}#${count}`
  }

  /** Returns an id for a call that is unique in the thread: the given one if it is free. */
  claimCall(callId: string, step: string): string {
    this.#calls ??= new CallIds(this.history, this.whole)
    const id = this.#calls.isTaken(callId) ? this.next(step) : callId
    this.#calls.take(id)
    return id
  }

  /** The name of a call or step under the calls around the run; the same when those calls run again. */
  originOf(name: string): string {
    return this.#parent ? `${this.#parent.origin}/${name}` : name
  }

  stamp(agentName: string, runPath: readonly string[]): EventStamp {
    const runId = this.#runId
    if (!this.#parent) return { runId, agentName, runPath }
    const { runId: parentRunId, callId: parentCallId, origin } = this.#parent
    return { runId, agentName, runPath, parentRunId, parentCallId, origin }
  }
}
