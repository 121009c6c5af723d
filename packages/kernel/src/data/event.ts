import type { AgentAction, Interrupt } from './action.ts'
import type { Json } from './json.ts'
import { type ErrorInfo, got, isObject, KernelError } from './kernel-error.ts'
import type { AssistantMessage, Content, Message, Part, ToolCall, ToolMessage, Usage } from './message.ts'

/** The origin of an event. */
export type EventStamp = {
  /** A nested run has its own: `<runId>/<step>` of the call around it. */
  readonly runId: string
  readonly agentName: string
  /** The agents that led here, without the current one. */
  readonly runPath: readonly string[]
  /** The run around a nested run, on every event of the nested run. */
  readonly parentRunId?: string
  /** The outer tool call, on every event of a nested run; it distinguishes a sub-agent from a transfer. */
  readonly parentCallId?: string
  /** The calls around a nested run, by id, as `ctx.origin`. Contract: the same when the outer call runs again in a resumed run. */
  readonly origin?: string
}

/** The outcome of a run or an agent. */
export type Outcome = 'complete' | 'failed' | 'cancelled' | 'interrupted'

/** The result of a run. */
export type RunResult<Output = unknown> = {
  readonly outcome: Outcome
  /** The text of the last assistant message, which may be partial, or of a return-directly result. */
  readonly text: string
  /** The result of an exit, or else the structured output of the last message; JSON. */
  readonly output?: Output
  /** The messages that the run added to the history, in the order of the history, whatever came first: `history.push(...result.messages)`. Those of nested runs are in the results of their calls. */
  readonly messages: readonly Message[]
  /** The tokens of this run and of the runs nested in it. A resumed run counts from its resume on; what was used before the question is in the result of the run that asked. */
  readonly usage: Usage
  readonly error?: ErrorInfo
  readonly interrupts?: readonly Interrupt[]
  /** Calls of long-running tools whose results are awaited from outside. */
  readonly openCallIds?: readonly string[]
}

/** The fields of each event beside its type and stamp. */
interface EventFields {
  /** The run has begun: its lease is held, its row may be written. */
  'run-start': object
  /** An agent starts. */
  'agent-start': { readonly iteration?: number }
  /** An assistant message begins; nothing of it is in history yet. Contract: the text of a `structured` one is structured output, unless the message ends with calls. */
  'message-start': { readonly messageId: string; readonly structured?: true }
  /** A piece of its text. */
  'text-delta': { readonly messageId: string; readonly delta: string }
  /** A piece of its thinking. */
  'reasoning-delta': {
    readonly messageId: string
    readonly delta: string
  }
  /** The model begins to write a call. */
  'tool-call-start': {
    readonly messageId: string
    readonly callId: string
    readonly name: string
  }
  /** A piece of its arguments. */
  'tool-call-delta': {
    readonly callId: string
    readonly delta: string
  }
  /** The call as the model wrote it. */
  'tool-call-end': { readonly call: ToolCall }
  /** The whole message. Contract: comes after the after-hooks and carries the message as it is in the history; a message that was cut off for good is `partial`; `dropped` closes the text of an attempt that does not count, which is in no history. */
  'message-end': {
    readonly message: AssistantMessage
    readonly usage?: Usage
    /** The model that wrote it, as it names itself. */
    readonly model?: string
    readonly finishReason?: FinishReason
    /** The validated structured output of the message. */
    readonly output?: Json
    readonly dropped?: true
  }
  /** A tool starts. Contract: its write waits until the consumer has come back for more; not repeated on resume. */
  'tool-start': {
    readonly callId: string
    readonly name: string
    readonly arguments: string
  }
  /** A piece of a tool's output. */
  'tool-delta': {
    readonly callId: string
    readonly delta: string | Part
  }
  /** A call is answered. Contract: exactly one per call of a `message-end`, unless the call is open or interrupted; a `failed` one still has content, which the model sees. */
  'tool-end': {
    readonly callId: string
    readonly messageId: string
    readonly name: string
    readonly status: 'complete' | 'failed' | 'dropped'
    readonly content: Content
    readonly display?: string
    readonly data?: Json
    readonly error?: ErrorInfo
    readonly kept?: NonNullable<ToolMessage['kept']>
  }
  /** State has changed. Contract: written before the next event of the same agent. */
  'state-delta': {
    readonly set: { readonly [key: string]: Json }
    readonly removed: readonly string[]
  }
  /** An action that the agent requests. Contract: gated like `tool-start`. */
  action: { readonly action: AgentAction }
  /** An event of a tool, handler or agent beyond the kernel's own. */
  custom: { readonly name: string; readonly data: Json }
  /** An error. Contract: one in a failed run, before its `run-end`. */
  error: { readonly error: ErrorInfo }
  /** An agent is done. Contract: one per `agent-start`; of a transferring agent it precedes the target's `agent-start`. */
  'agent-end': {
    readonly outcome: Outcome
    /** The iteration of the loop that it runs in, from 0. */
    readonly iteration?: number
    readonly error?: ErrorInfo
  }
  /** The run has ended. Contract: exactly one, last, even if the consumer has left. */
  'run-end': Omit<RunResult<Json>, 'messages'>
}

/**
 * The event of one type.
 * @example const print = ({ name, status }: EventOf<'tool-end'>) => console.log(name, status)
 */
export type EventOf<Type extends keyof EventFields> = EventStamp & { readonly type: Type } & EventFields[Type]

/** Every event of a run, as plain JSON. Contract: `type` is closed for one kernel version; extend with `custom`. */
export type AgentEvent = { [Type in keyof EventFields]: EventOf<Type> }[keyof EventFields]

/** An event as an agent may yield it: missing fields of the stamp are filled in from its context. */
export type EventDraft = AgentEvent extends infer E
  ? E extends EventStamp
    ? Omit<E, keyof EventStamp> & Partial<EventStamp>
    : never
  : never
/** Why a model stopped. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other'

const KINDS: Record<AgentEvent['type'], 'content' | 'steering' | 'bracket'> = {
  'run-start': 'bracket',
  'agent-start': 'bracket',
  'message-start': 'content',
  'text-delta': 'content',
  'reasoning-delta': 'content',
  'tool-call-start': 'content',
  'tool-call-delta': 'content',
  'tool-call-end': 'content',
  'message-end': 'content',
  'tool-start': 'content',
  'tool-delta': 'content',
  'tool-end': 'content',
  'state-delta': 'content',
  action: 'steering',
  custom: 'content',
  error: 'steering',
  'agent-end': 'bracket',
  'run-end': 'bracket',
}
const BY_TYPE = new Map(Object.entries(KINDS))

/** Returns the kind of an event. Contract: throws `EVENT_INVALID` for an unknown type. */
export function eventKind(event: EventDraft): 'content' | 'steering' | 'bracket' {
  const kind = BY_TYPE.get(event?.type)
  if (kind) return kind
  throw new KernelError(
    'EVENT_INVALID',
    `event: the type must be one of ${[...BY_TYPE.keys()].join(', ')}, ${got(isObject(event) ? event.type : event)}`,
  )
}

/** The error for an agent or host that writes an event reserved for the kernel. */
export function byKernelAlone(who: string, type: AgentEvent['type']): KernelError {
  return new KernelError('EVENT_INVALID', `${who}: only the kernel writes ${type}`)
}
