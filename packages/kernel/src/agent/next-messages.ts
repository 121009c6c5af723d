import { type ContextKey, contextKey } from '../context/context.ts'
import type { Message } from '../data/message.ts'

/**
 * Messages that came with the answers of a run, and follow the results of the calls that run again.
 * Contract: an agent that asks a model takes them before its next request, if the run is its own; what nobody has taken when the agents end begins another turn.
 */
export interface NextMessages {
  readonly runId: string
  /** Contract: gives each message once, and notes that it is part of the history from now on. */
  take(): readonly Message[]
}

/** The messages that wait for the next request to a model. */
export const NEXT_MESSAGES: ContextKey<NextMessages | undefined> = contextKey('troupe.nextMessages')
