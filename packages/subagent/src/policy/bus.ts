import type { ApprovalAnswer, Awaitable, Json, KernelError, ToolKind } from '@troupe/kernel'
import type { AuditEvent } from './audit-event.ts'

/** The data of an app's own messages by type. */
export type BusMessages = { readonly [type: string]: Json }

/** A message of the app. Contract: the bus sets `from`; `data` is a frozen copy. */
export interface BusMessage<Data extends Json = Json> {
  readonly type: string
  /** The identity of the sender: `a/b`. */
  readonly from: string
  readonly data: Data
}

/** The question whether a call may run. */
export interface ApprovalRequest {
  /** Contract: `<callId>#policy`, the same when the call runs again. */
  readonly id: string
  /** The identity of the caller: `a/b`. */
  readonly agent: string
  readonly path: readonly string[]
  readonly callId: string
  readonly runId: string
  readonly tool: string
  readonly kind: ToolKind
  /** The validated arguments as JSON, as a copy. */
  readonly args: Json
  /** The text the model wrote; an answer may replace it. */
  readonly arguments: string
  /** The question for a person: `Allow write_file?`, with the reason of the rule if it has one. */
  readonly message: string
  /** Whether an answer may have `always`: the policy has `grants`, and the question is not one of the tool itself. */
  readonly offersAlways: boolean
  /** Aborts when the question is closed: another listener answered, the time is up, or the run was aborted. */
  readonly signal: AbortSignal
}

/** An answer to a question of a policy; `always` also permits the later calls of this tool by this agent, in this thread or in all threads of the owner. */
export type AlwaysAnswer = ApprovalAnswer & { readonly always?: 'thread' | 'tool' }

/** Answers, or leaves the question to others with `undefined`. Contract: the first answer counts; a listener that throws or gives an invalid answer has not answered. */
export type ApprovalListener = (request: ApprovalRequest) => Awaitable<AlwaysAnswer | undefined>

/** The listener for a type of message. */
export type BusListener<M extends BusMessages, T> = T extends 'approval'
  ? ApprovalListener
  : T extends 'audit'
    ? (event: AuditEvent) => void | Promise<void>
    : (message: BusMessage<T extends keyof M ? M[T] : never>) => void | Promise<void>

/** An agent's access to the bus. Contract: sends in its own name only; gives no access to the agents above. */
export interface BusHandle<M extends BusMessages = BusMessages> {
  readonly path: readonly string[]
  /** Its path in one text: `a/b`; '' for the main agent. */
  readonly identity: string
  /** Calls the listeners of a type synchronously. */
  send<T extends keyof M & string>(type: T, data: M[T]): void
  /** Makes the handle of a child. */
  as(name: string): BusHandle<M>
}

/** The application's access to the bus: it can also listen. */
export interface Bus<M extends BusMessages = BusMessages> extends BusHandle<M> {
  /** Adds a listener. Contract: returns a function that removes it; an approval still awaited from it then counts as not answered. */
  on<T extends (keyof M & string) | 'approval' | 'audit'>(type: T, listener: BusListener<M, T>): () => void
  /** Counts the listeners. */
  listeners(type?: string): number
}

/** The options of `createBus`. */
export interface BusOptions {
  /** Receives the first failure of each listener. @default console.error */
  readonly report?: (error: KernelError) => void
}
