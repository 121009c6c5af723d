import type { Message, NextMessages } from '@troupe/kernel'
import type { ThreadLog } from '../thread-log.ts'

/** The messages that came with the answers of a run, until an agent takes them. */
export class WaitingMessages implements NextMessages {
  readonly runId: string
  readonly #log: ThreadLog
  #left: readonly Message[]

  constructor(runId: string, log: ThreadLog, messages: readonly Message[] = []) {
    this.runId = runId
    this.#log = log
    this.#left = messages
  }

  /** Those that nobody has taken yet. */
  get left(): readonly Message[] {
    return this.#left
  }

  take(): readonly Message[] {
    const taken = this.#left
    this.#left = []
    for (const message of taken) this.#log.add(message)
    return taken
  }
}
