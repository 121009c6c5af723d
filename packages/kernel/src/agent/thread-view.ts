import { type ContextKey, contextKey } from '../context/context.ts'
import type { Message } from '../data/message.ts'

/** The thread as an agent of a run finds it, for handlers that keep something with the thread. */
export interface ThreadView {
  /** Contract: a nested run has a thread of its own, so a view of another run says nothing about it. */
  readonly runId: string
  /** The step of the innermost branch of a parallel workflow that the agent runs in. */
  readonly branch: string | undefined
  /** Contract: all that the thread has so far, with the messages of this run, and nothing that handlers or agents show a model for this run alone. */
  readonly messages: readonly Message[]
}

/** The key of the thread in the context of an agent that a flow runs. */
export const THREAD_VIEW: ContextKey<ThreadView> = contextKey<ThreadView>('troupe.threadView')
