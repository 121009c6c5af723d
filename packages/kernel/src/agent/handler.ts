import type { RunContext } from '../context/context.ts'
import type { RunResult } from '../data/event.ts'
import type { Awaitable } from '../data/json.ts'
import type { Message } from '../data/message.ts'
import type { AgentInput, RunOptions } from './agent.ts'
import type { ModelPart, ModelRequest } from './model.ts'
import type { InvokeTool, StreamTool, StreamToolCallResult, ToolCallInput, ToolCallResult, ToolMeta } from './tool.ts'

/** An extension of an agent. Contract: every hook optional and run forward; wraps nest, first registered outermost; a throwing hook ends the run with one `error` event that names handler and hook. */
export interface AgentHandler {
  readonly name: string
  /** Contract: once per run and per resume, before the model. */
  beforeAgent?(ctx: RunContext, config: AgentConfig): Awaitable<RunContext | void>
  /** Contract: before each model call; edits stay for the following iterations. */
  beforeModelRewriteHistory?(ctx: RunContext, messages: readonly Message[]): Awaitable<HistoryRewrite>
  /** Contract: after each model call, before `message-end`; the last message decides: tools or done. */
  afterModelRewriteHistory?(ctx: RunContext, messages: readonly Message[]): Awaitable<HistoryRewrite>
  /** Contract: a tool failure is `result.error`; anything thrown here ends the run. */
  wrapInvokableToolCall?(ctx: RunContext, input: ToolCallInput, next: InvokeTool): Promise<ToolCallResult>
  /** Contract: for tools with `stream`; a handler with only the other wrap is adapted, never bypassed. */
  wrapStreamableToolCall?(ctx: RunContext, input: ToolCallInput, next: StreamTool): Promise<StreamToolCallResult>
  /** Contract: around one model call with its retries; what it yields is what happened. */
  wrapModelCall?(ctx: RunContext, request: ModelRequest, next: CallModel): AsyncIterable<ModelPart>
  /** Contract: once after each `beforeAgent` that was reached, whatever the outcome; its error does not replace an earlier one. */
  afterAgent?(ctx: RunContext, result: RunResult): Awaitable<void>
}

/** The rest of the model onion. */
export type CallModel = (ctx: RunContext, request: ModelRequest) => AsyncIterable<ModelPart>
/** New messages, new messages with a derived context, or nothing for unchanged. */
export type HistoryRewrite =
  | readonly Message[]
  | { readonly messages: readonly Message[]; readonly ctx: RunContext }
  | void

/** One run of one agent, for `beforeAgent` to change. Contract: a copy per run, mutable by design; additions are already in `instruction` and `tools`. */
export interface AgentConfig {
  instruction: string
  tools: ToolMeta[]
  input: Pick<AgentInput, 'messages'>
  runOptions: RunOptions
}

/** For those who like classes. Contract: a hook inherited unchanged counts as absent. */
export declare abstract class BaseAgentHandler implements Required<AgentHandler> {
  readonly name: string
  constructor(name: string)
  beforeAgent(ctx: RunContext, config: AgentConfig): Awaitable<RunContext | void>
  beforeModelRewriteHistory(ctx: RunContext, messages: readonly Message[]): Awaitable<HistoryRewrite>
  afterModelRewriteHistory(ctx: RunContext, messages: readonly Message[]): Awaitable<HistoryRewrite>
  wrapInvokableToolCall(ctx: RunContext, input: ToolCallInput, next: InvokeTool): Promise<ToolCallResult>
  wrapStreamableToolCall(ctx: RunContext, input: ToolCallInput, next: StreamTool): Promise<StreamToolCallResult>
  wrapModelCall(ctx: RunContext, request: ModelRequest, next: CallModel): AsyncIterable<ModelPart>
  afterAgent(ctx: RunContext, result: RunResult): Awaitable<void>
}
