import type { BaseEvent, Context, Interrupt, Message } from '@ag-ui/client'
import type { ResumableHttpAgentConfig } from '@troupe/ag-ui/client'
import type { Access } from '../request/access.ts'
import type { Item, UserContent } from './item.ts'
import type { PageTools } from './page-tool.ts'
import type { Run } from './run.ts'

/** The state that page and agents share: one JSON object. */
export type ThreadState = Readonly<Record<string, unknown>>

/** A run of the past, as it was shown. */
export interface PastRun {
  readonly runId: string
  readonly userMessages: readonly { readonly id: string; readonly text: string; readonly content?: UserContent }[]
  /** Results that a page gave, for which there are no events. */
  readonly results: readonly { readonly toolCallId: string; readonly text: string }[]
  /** Contract: without events, `messages` take their place. */
  readonly events: readonly BaseEvent[]
  readonly messages: readonly Message[]
}

/** A conversation with the events of its runs, and the id of the run that is active. */
export interface History {
  readonly running?: string
  readonly runs: readonly PastRun[]
}

/** The options of `useThread`. */
export interface ThreadOptions extends Access {
  /** The id of the conversation; one that the server does not know is a new conversation. */
  readonly threadId: string
  /** Tools that run on this page. @default none */
  readonly tools?: PageTools | undefined
  /** What the agents are told about the page with each run. @default nothing */
  readonly context?: readonly Context[] | undefined
  /**
   * Loads the conversation with the events of its runs, so that the work of sub-agents and the timeline of earlier runs are shown too.
   * @default the messages that the AG-UI server has
   */
  readonly history?: ((threadId: string) => Promise<History>) | undefined
  /** Saves a change of the shared state between runs. @default the next run takes it along */
  readonly saveState?: ((state: ThreadState) => Promise<void>) | undefined
  /** Whether `events` has every event, for an inspector. @default false */
  readonly keepEvents?: boolean | undefined
  /** How a lost connection is found again, as for `ResumableHttpAgent`. */
  readonly reconnect?: ResumableHttpAgentConfig['reconnect'] | undefined
}

/** What a thread is doing. */
export type ThreadStatus = 'loading' | 'idle' | 'running' | 'stopping'

/**
 * What the page can do with a thread.
 * Contract: these functions stay the same as long as the thread is shown, and never throw: what fails is a note in the conversation. One that begins a run
 * resolves when that run has ended, `send` and `reload` before.
 */
export interface ThreadActions {
  /** Sends a message. Contract: waits while the conversation loads; false if a run is active, a question is open, or there is nothing to send. */
  readonly send: (text: string, files?: readonly Blob[]) => Promise<boolean>
  /** Answers a question. Contract: the run goes on after the last answer. */
  readonly answer: (questionId: string, payload: unknown) => Promise<void>
  /** Closes a question without an answer, also one that has expired; an approval is refused. */
  readonly dismiss: (questionId: string) => Promise<void>
  /** Stops the run, on the server too. */
  readonly stop: () => Promise<void>
  /** Goes on with a run whose server was killed. */
  readonly continue: () => Promise<void>
  /** Tries again what has failed: loads the conversation, sends the message, or answers it. */
  readonly retry: () => Promise<void>
  /** Answers a message of the user again. @param messageId the last one by default */
  readonly regenerate: (messageId?: string) => Promise<void>
  /** Changes a message of the user; the conversation goes on from there, and what was after it is cut off. */
  readonly edit: (messageId: string, text: string) => Promise<void>
  /** Changes keys of the shared state. Contract: during a run a function is called again with the state that the run leaves. */
  readonly setState: (change: ThreadState | ((state: ThreadState) => ThreadState)) => void
  /** Loads the conversation again. Contract: resolves when it is shown; an active run goes on after that. */
  readonly reload: () => Promise<void>
}

/** A conversation as the page shows it now. */
export interface Thread extends ThreadActions {
  readonly threadId: string
  readonly status: ThreadStatus
  readonly items: readonly Item[]
  /** The runs whose events the page has seen. */
  readonly runs: readonly Run[]
  /** Questions without an answer. */
  readonly questions: readonly Interrupt[]
  readonly state: ThreadState
  /** The title on the server, or the first words of the conversation. */
  readonly title: string | undefined
  /** What a person can do about the failure at the end of the conversation. */
  readonly recovery: 'continue' | 'retry' | undefined
  /** Every event, with `keepEvents`. */
  readonly events: readonly BaseEvent[]
}
