import type { RunContext } from '../context/context.ts'
import type { Awaitable, Json } from '../data/json.ts'
import type { ErrorInfo } from '../data/kernel-error.ts'
import type { Content, Part } from '../data/message.ts'
import type { Infer, Schema } from '../data/schema.ts'

/** The kind of effect a tool has on its environment; policy rules use it. */
export type ToolKind = 'read' | 'write' | 'execute' | 'think'
/** The effect of a repeated call; caches, retries and durable engines use it. `nested`: its effects are the steps of the runs inside it. */
export type ToolEffect = 'pure' | 'idempotent' | 'once' | 'nested'

/** A tool that a model can call. Contract: has `invoke`, `stream` or both, unless `longRunning`. */
export interface Tool<Args = unknown> {
  readonly name: string
  /** @default name */
  readonly displayName?: string
  readonly description: string
  readonly parameters: Schema
  readonly kind: ToolKind
  /** @default 'text' */
  readonly output?: 'text' | 'markdown'
  /** @default 'once' */
  readonly effect?: ToolEffect
  /** The result comes from outside, later. Contract: the call stays open and ends the turn; `invoke`, if there, starts the work and its value is ignored. */
  readonly longRunning?: boolean
  /** Whether the model or the run gets a thrown error. @default 'feedback' */
  readonly onError?: 'feedback' | 'throw'
  /** Contract: decided after all wraps, on the arguments that the tool would get; anything but false, an error included, raises an interrupt of reason `approval`. The approval is for this call with these arguments. */
  needsApproval?(args: Args, ctx: RunContext): Awaitable<boolean>
  /** Contract: `args` are validated; throwing is a tool failure, not a run failure; `toolResult` reads the returned value. */
  invoke?(args: Args, ctx: RunContext, call: ToolCallInput): Awaitable<ToolOutput | void>
  /** Contract: chunks are shown as they come; without a returned result their text is the result. */
  stream?(args: Args, ctx: RunContext, call: ToolCallInput): AsyncIterable<string | Part, ToolOutput | void>
  /** Checks what an interrupted call has kept of the runs inside it, before answers are taken. Contract: throws `CHECKPOINT_INVALID`; see `checkSavedRuns`. */
  checkState?(saved: Json): void
}

/** The values that a tool may return: text for the model, any JSON value, or a whole result. Contract: text stays text; any other value is given to the model as JSON and to programs as `data`; an object that has `content` and nothing but properties of a result is one. */
export type ToolOutput = string | number | boolean | null | object

/** The result of a call. */
export type ToolCallResult = {
  /** Shown to the model. */
  readonly content: Content
  /** Shown to a person. @default content */
  readonly display?: string
  /** Data for programs. */
  readonly data?: Json
  readonly error?: ErrorInfo
  /** Overrides `ToolMeta.returnDirectly` for this call. */
  readonly direct?: boolean
  /** How often the tool was called, if more than once; the last attempt gave the result. */
  readonly attempts?: number
}

/** A tool as one agent uses it. */
export interface ToolMeta {
  readonly tool: Tool
  readonly returnDirectly: boolean
}

/** One call on its way through the wraps. Contract: JSON but for `tool`. */
export interface ToolCallInput {
  readonly name: string
  readonly arguments: string
  readonly callId: string
  /** From `RunOptions.tools[name]`. */
  readonly callOptions?: Json
  /** Its position in the run, the whole path: `tool:<turn>:<index>` under the step of the agent. */
  readonly step: string
  /** Contract: the same at every attempt, also after a resume in a run of another id. */
  readonly idempotencyKey: string
  /** Absent for an unknown name. */
  readonly tool?: Tool
}

/** A call that shows its output as it comes. Contract: `result` settles when `stream` has ended or was left; it rejects only on abort, interrupt and handler errors. */
export interface StreamToolCallResult {
  readonly stream: AsyncIterable<string | Part>
  readonly result: Promise<ToolCallResult>
}
/** The remaining wraps of a tool call and the call itself. */
export type InvokeTool = (ctx: RunContext, input: ToolCallInput) => Promise<ToolCallResult>
/** The same for a tool that streams. */
export type StreamTool = (ctx: RunContext, input: ToolCallInput) => Promise<StreamToolCallResult>
/** The argument of `defineTool`: a Tool whose argument types come from its schema. */
export type ToolDefinition<S extends Schema> = Omit<Tool<Infer<S>>, 'parameters' | 'kind'> & {
  readonly parameters: S
  readonly kind?: ToolKind
}
