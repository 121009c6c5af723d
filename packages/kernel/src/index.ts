export type { Additions, Agent, AgentInput, ResumeInfo, RunOptions } from './agent/agent.ts'
export type { AgentFactory, AgentSpec } from './agent/agent-factory.ts'
export { defineTool } from './agent/define-tool.ts'
export type { AgentConfig, AgentHandler, CallModel, HistoryRewrite } from './agent/handler.ts'
export { BaseAgentHandler } from './agent/handler.ts'
export type { Journal } from './agent/journal.ts'
export { JOURNAL } from './agent/journal.ts'
export type { ChatModel, ModelOptions, ModelPart, ModelRequest, ModelResult, ToolSpec } from './agent/model.ts'
export type { NextMessages } from './agent/next-messages.ts'
export { NEXT_MESSAGES } from './agent/next-messages.ts'
export { say } from './agent/say.ts'
export type { NewMessage, StartInput } from './agent/start-input.ts'
export type {
  InvokeTool,
  StreamTool,
  StreamToolCallResult,
  Tool,
  ToolCallInput,
  ToolCallResult,
  ToolDefinition,
  ToolEffect,
  ToolKind,
  ToolMeta,
  ToolOutput,
} from './agent/tool.ts'
export type { Changed } from './agent/with-handlers.ts'
export {
  withAfterModelRewriteHistory,
  withBeforeAgent,
  withBeforeModelRewriteHistory,
  withInstruction,
  withInstructionFunc,
  withInvokableToolWrapper,
  withStreamableToolWrapper,
  withTools,
  withToolsFunc,
} from './agent/with-handlers.ts'
export type { Callback, RunInfo, Span, SpanHooks, Spans } from './callback/callback.ts'
export type { Clock } from './context/clock.ts'
export type { CallScope, ContextKey, ContextPatch, Ids, RunContext } from './context/context.ts'
export { contextKey } from './context/context.ts'
export type { State } from './context/state.ts'
export type { AgentAction, Answers, ApprovalAnswer, Interrupt, InterruptRequest } from './data/action.ts'
export type { CancelMode, CancelRequest } from './data/cancel.ts'
export type { AgentEvent, EventDraft, EventOf, EventStamp, FinishReason, Outcome, RunResult } from './data/event.ts'
export type { Awaitable, Json, JsonObject } from './data/json.ts'
export type { ErrorInfo, KernelErrorCode, KernelErrorOptions } from './data/kernel-error.ts'
export { KernelError } from './data/kernel-error.ts'
export type {
  AssistantMessage,
  Content,
  FilePart,
  Message,
  Part,
  ProviderMetadata,
  ReasoningPart,
  SystemMessage,
  TextPart,
  ToolCall,
  ToolMessage,
  Usage,
  UserMessage,
} from './data/message.ts'
export { textOf } from './data/message.ts'
export type { FromJsonSchema, Infer, JsonSchema, Schema, SchemaIssue, StandardSchema } from './data/schema.ts'
export type { Owner, ThreadRef } from './data/thread-ref.ts'
export type {
  ClosedQuestions,
  ContinueRequest,
  ForkRequest,
  LostQuery,
  Restored,
  Run,
  RunInput,
  Runner,
  RunRequest,
} from './run/run.ts'
export type { BlobStore } from './store/blob-store.ts'
export type { Count, CounterStore } from './store/counter-store.ts'
export type { Fact, FactStore } from './store/fact-store.ts'
export type { Grant, GrantStore } from './store/grant-store.ts'
export type {
  Checkpoint,
  CommittedMessage,
  ForkPoint,
  FullStore,
  JournalStore,
  LeaseStore,
  LogEntry,
  LostRun,
  Memory,
  ModelCallRecord,
  Page,
  RecordCommand,
  RecordStore,
  RunAttempt,
  RunLogStore,
  RunRecord,
  Store,
  Thread,
  ThreadCommit,
  ThreadLabel,
  ThreadStore,
  ThreadSummary,
  ToolCallRecord,
} from './store/store.ts'
export type { StreamOptions } from './stream/channel.ts'
export type { Sink } from './stream/sink.ts'
export type { PipeStream } from './stream/stream.ts'
export { stream } from './stream/stream.ts'
