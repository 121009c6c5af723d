import type { RunContext } from '../context/context.ts'
import type { ErrorInfo } from '../data/error.ts'
import type { Awaitable, Json } from '../data/json.ts'
import type { Content, Part } from '../data/message.ts'
import type { Infer, JsonSchemaValidator, Schema } from '../data/schema.ts'

/** What a tool does to the world; policy rules go by it. */
export type ToolKind = 'read' | 'write' | 'execute' | 'think'
/** What a repeated call does; caches and durable engines go by it. `nested`: its effects are the steps of the runs inside it. */
export type ToolEffect = 'pure' | 'idempotent' | 'once' | 'nested'

/** Something a model can call. Contract: has `invoke`, `stream` or both, unless `longRunning`. */
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
  /** Contract: asked for every call of the turn before any of them starts; true raises an interrupt of reason `approval`. */
  needsApproval?(args: Args, ctx: RunContext): Awaitable<boolean>
  /** Contract: `args` are validated; throwing is a tool failure, not a run failure. */
  invoke?(args: Args, ctx: RunContext, call: ToolCallInput): Awaitable<ToolOutput | void>
  /** Contract: chunks are shown as they come; without a returned result their text is the result. */
  stream?(args: Args, ctx: RunContext, call: ToolCallInput): AsyncIterable<string | Part, ToolOutput | void>
}

/** What a tool may return: text for the model, or everything. */
export type ToolOutput = string | ToolCallResult

/** What became of a call. */
export type ToolCallResult = {
  /** What the model sees. */
  readonly content: Content
  /** What a person sees. @default content */
  readonly display?: string
  /** What a program sees. */
  readonly data?: Json
  readonly error?: ErrorInfo
  /** Overrides `ToolMeta.returnDirectly` for this call. */
  readonly direct?: boolean
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
  /** Its position: `tool:<turn>:<index>` under the step of the context. */
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
/** The rest of the invokable onion. */
export type InvokeTool = (ctx: RunContext, input: ToolCallInput) => Promise<ToolCallResult>
/** The rest of the streamable onion. */
export type StreamTool = (ctx: RunContext, input: ToolCallInput) => Promise<StreamToolCallResult>
/** What `defineTool` takes: a Tool whose argument types come from its schema. */
export type ToolDefinition<S extends Schema> = Omit<Tool<Infer<S>>, 'parameters' | 'kind'> & {
  readonly parameters: S
  readonly kind?: ToolKind
}
/** Defines a tool. Contract: validates the definition (`CONFIG_INVALID`); `kind` is `execute` unless said otherwise. */
export declare function defineTool<const S extends Schema>(definition: ToolDefinition<S>): Tool<Infer<S>>
/** Parses and validates the text a model wrote. Contract: rejects with `VALIDATION_FAILED`; called innermost, after the wraps. */
export declare function parseArguments(tool: Tool, text: string, validator: JsonSchemaValidator): Promise<unknown>
