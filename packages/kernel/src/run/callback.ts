import type { AgentInput } from '../agent/agent.ts'
import type { ModelRequest, ModelResult } from '../agent/model.ts'
import type { ToolCallInput, ToolCallResult } from '../agent/tool.ts'
import type { KernelError } from '../data/error.ts'
import type { AgentEnd, AgentEvent, RunResult } from '../data/event.ts'
import type { ThreadRef } from '../store/store.ts'

/** What is being observed, and where it stands. */
export interface RunInfo {
  readonly component: keyof Spans
  readonly name: string
  readonly runId: string
  /** The run around a nested run. */
  readonly parentRunId?: string
  /** `<runId>/<step>`, so a wrap can find the span of its call. */
  readonly spanId: string
  /** model and tool: the agent; agent: the run; nested run: the tool call; root run: none. */
  readonly parentSpanId?: string
  readonly callId?: string
  readonly session: ThreadRef
}

/** Input and output of each kind of span. */
export interface Spans {
  run: { input: AgentInput; output: RunResult }
  agent: { input: AgentInput; output: AgentEnd }
  model: { input: ModelRequest; output: ModelResult }
  tool: { input: ToolCallInput; output: ToolCallResult }
}

/** What can be heard of a span. Contract: called synchronously, nothing awaited; exactly one of `onEnd` and `onError` per `onStart`. */
export interface SpanHooks<Input, Output> {
  onStart?(info: RunInfo, input: Input): void | Promise<void>
  /** Contract: cancelled, interrupted and a tool's own failure arrive here, as values. */
  onEnd?(info: RunInfo, output: Output): void | Promise<void>
  onError?(info: RunInfo, error: KernelError): void | Promise<void>
}

/** Stands beside the stream and sees everything. Contract: what it is shown is shared and not to be changed; a hook that throws or hangs is isolated and reported once; it never delays, breaks or secures a run. */
export interface Callback {
  readonly name: string
  /** A root or nested run; `onPart` sees every event of it, read or not, without those of the runs nested in it. */
  readonly run?: SpanHooks<AgentInput, RunResult> & { onPart?(info: RunInfo, event: AgentEvent): void }
  readonly agent?: SpanHooks<AgentInput, AgentEnd>
  readonly model?: SpanHooks<ModelRequest, ModelResult>
  /** Contract: opened outside the wraps, so that a cached or refused call is seen too. */
  readonly tool?: SpanHooks<ToolCallInput, ToolCallResult>
}

/** An open span. Contract: the first of `end` and `fail` counts. */
export interface Span<C extends keyof Spans> {
  end(output: Spans[C]['output']): void
  fail(error: unknown): void
}
