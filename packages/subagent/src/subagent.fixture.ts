import {
  type Agent,
  type AgentConfig,
  type AgentEvent,
  type AgentHandler,
  type AgentInput,
  type AgentSpec,
  type Answers,
  type AssistantMessage,
  defineTool,
  type EventDraft,
  type Interrupt,
  type InvokeTool,
  type Json,
  KernelError,
  type Message,
  type ResumeInfo,
  type RunContext,
  type Sink,
  stream,
  type Tool,
  type ToolCall,
  type ToolCallResult,
} from '@troupe/kernel'
import { messageOf, openCalls } from '@troupe/kernel/history'
import { addUsage, NO_USAGE, parseArguments, toJsonSchema, toolResult } from '@troupe/kernel/kit'
import { jsonSchemaValidator } from '@troupe/testkit'

/** A small agent with the hooks that this package uses, as a third party's AgentFactory may make it. */
export function miniAgent(spec: AgentSpec): Agent {
  const start = (input: AgentInput | ResumeInfo, ctx: RunContext) =>
    stream<EventDraft>((sink) => new MiniRun(spec, input, ctx, sink).run())
  return { name: spec.name, description: spec.description, run: start, resume: start }
}

type Kept = { readonly parked: { readonly [callId: string]: Json }; readonly answers: Answers; readonly turn: number }

/** The questions of the calls of one turn, and the saved state of those calls. */
type Waiting = { readonly interrupts: Interrupt[]; readonly parked: Record<string, Json> }

class MiniRun {
  readonly #spec: AgentSpec
  readonly #sink: Sink<EventDraft>
  readonly #config: AgentConfig
  readonly #invoke: InvokeTool
  #ctx: RunContext
  #messages: readonly Message[]
  #kept: Kept | undefined
  #turn = 0
  #calls = 0

  constructor(spec: AgentSpec, input: AgentInput | ResumeInfo, ctx: RunContext, sink: Sink<EventDraft>) {
    this.#spec = spec
    this.#sink = sink
    this.#ctx = ctx
    this.#messages = input.messages
    this.#config = {
      instruction: spec.instruction,
      tools: spec.tools.slice(),
      input: { messages: input.messages },
      runOptions: { ...input.options },
    }
    this.#invoke = spec.handlers.reduceRight<InvokeTool>(wrapped, callTool)
    if ('answers' in input) {
      const kept = input.state as Kept
      this.#kept = { ...kept, answers: { ...kept.answers, ...input.answers } }
      this.#turn = kept.turn
    }
  }

  async run(): Promise<void> {
    for (const handler of this.#spec.handlers) {
      this.#ctx = (await handler.beforeAgent?.(this.#ctx, this.#config)) ?? this.#ctx
    }
    const open = openCalls(this.#messages)
    if (open.length > 0 && (!this.#kept || !(await this.#runCalls(open)))) return
    for (;;) {
      const calls = await this.#ask()
      if (calls.length === 0 || !(await this.#runCalls(calls))) return
      this.#turn++
    }
  }

  async #emit(draft: EventDraft): Promise<void> {
    await this.#sink.write(draft)
    const { runId, agentName, runPath } = this.#ctx
    const message = messageOf({ runId, agentName, runPath, ...draft } as AgentEvent)
    if (message) this.#messages = this.#messages.concat([message])
  }

  async #ask(): Promise<readonly ToolCall[]> {
    if (this.#ctx.cancelling) throw new KernelError('ABORTED', 'mini: asked to stop')
    if (this.#calls++ >= this.#spec.maxIterations) throw new KernelError('MAX_ITERATIONS', 'mini: too many model calls')
    for (const { beforeModelRewriteHistory } of this.#spec.handlers) {
      beforeModelRewriteHistory?.(this.#ctx, this.#messages)
    }
    const { instruction, tools, runOptions } = this.#config
    const request = {
      instruction,
      messages: this.#messages,
      tools: tools.map(({ tool }) => ({ ...tool, parameters: toJsonSchema(tool.parameters) })),
      options: runOptions.model ?? {},
      step: `model:${this.#turn}`,
      idempotencyKey: '',
    }
    let text = ''
    let usage = NO_USAGE
    const calls = new Map<string, ToolCall>()
    const id = this.#ctx.ids.next()
    await this.#sink.write({ type: 'message-start', messageId: id })
    for await (const part of this.#spec.model.stream(request, { signal: this.#ctx.signal })) {
      if (part.type === 'text-delta') text += part.delta
      else if (part.type === 'tool-call-start')
        calls.set(part.callId, { id: part.callId, name: part.name, arguments: '' })
      else if (part.type === 'tool-call-delta') {
        const call = calls.get(part.callId) as ToolCall
        calls.set(part.callId, { ...call, arguments: call.arguments + part.delta })
      } else if (part.type === 'finish') usage = addUsage(usage, part.usage)
    }
    const toolCalls = [...calls.values()]
    const message: AssistantMessage = {
      id,
      role: 'assistant',
      content: text,
      ...(toolCalls.length > 0 && { toolCalls }),
    }
    await this.#emit({ type: 'message-end', message, usage })
    return toolCalls
  }

  /** Runs calls at the same time and returns whether to ask the model again. */
  async #runCalls(calls: readonly ToolCall[]): Promise<boolean> {
    const waiting: Waiting = { interrupts: [], parked: {} }
    const kept = this.#kept
    const settled = await Promise.allSettled(calls.map((call, index) => this.#runCall(call, index, waiting)))
    for (const call of settled) if (call.status === 'rejected') throw call.reason
    this.#kept = undefined
    const { interrupts, parked } = waiting
    if (interrupts.length > 0) {
      const state = { parked, answers: kept?.answers ?? {}, turn: this.#turn }
      await this.#emit({ type: 'action', action: { type: 'interrupt', interrupts, state } })
      return false
    }
    const completed = this.#messages.some(
      (message) => message.role === 'tool' && message.name === 'complete_task' && !message.error,
    )
    return (
      openCalls(this.#messages).length === 0 && !completed && settled.every((call) => 'value' in call && !call.value)
    )
  }

  /** Runs one call and returns whether its result is the answer of the agent. */
  async #runCall(call: ToolCall, index: number, waiting: Waiting): Promise<boolean> {
    const { id: callId, name, arguments: text } = call
    const before = this.#kept?.parked[callId]
    if (this.#kept && before === undefined) return false
    const meta = this.#config.tools.find(({ tool }) => tool.name === name)
    const ctx = this.#callContext(callId, index, waiting)
    if (before === undefined) await this.#emit({ type: 'tool-start', callId, name, arguments: text })
    try {
      const input = { name, arguments: text, callId, step: ctx.step, idempotencyKey: callId }
      const result = await this.#invoke(ctx, { ...input, ...(meta && { tool: meta.tool }) })
      if (meta?.tool.longRunning && !result.error) return false
      const { direct = !result.error && meta?.returnDirectly === true, ...rest } = result
      const status = result.error ? 'failed' : 'complete'
      await this.#emit({ type: 'tool-end', callId, messageId: ctx.ids.next(), name, status, ...rest })
      return direct
    } catch (error) {
      if (waiting.parked[callId] === undefined) throw error
      return false
    }
  }

  #callContext(callId: string, index: number, { interrupts, parked }: Waiting): RunContext {
    const kept = this.#kept
    const saved = kept?.parked[callId]
    return this.#ctx.derive({
      step: `tool:${this.#turn}:${index}`,
      call: {
        callId,
        ...(kept && { answers: kept.answers }),
        ...(saved !== undefined && { saved }),
        onAction() {},
        onInterrupt(asked, state = true) {
          interrupts.push(...asked)
          parked[callId] = state
        },
      },
    })
  }
}

const callTool: InvokeTool = async (ctx, { tool, name, arguments: text, ...rest }) => {
  try {
    if (!tool) throw new KernelError('TOOL_UNKNOWN', `tool ${name}: this agent has no such tool`)
    const args = await parseArguments(tool, text, jsonSchemaValidator)
    const output = await tool.invoke?.(args, ctx, { tool, name, arguments: text, ...rest })
    return toolResult(name, output)
  } catch (cause) {
    ctx.throwIfAborted()
    const error = KernelError.from(cause, 'TOOL_FAILED')
    if (error.code === 'INTERRUPTED') throw error
    return { content: `Error: ${error.message}`, error: error.toJSON() } satisfies ToolCallResult
  }
}

function wrapped(next: InvokeTool, { wrapInvokableToolCall: wrap }: AgentHandler): InvokeTool {
  return wrap ? (ctx, input) => wrap(ctx, input, next) : next
}

/** A tool that takes anything and says that it is done. */
export const tool = (name: string, more: Partial<Tool> = {}): Tool =>
  defineTool({
    name,
    description: `${name}.`,
    parameters: { type: 'object' },
    kind: 'read',
    invoke: () => `${name} done`,
    ...more,
  } as Tool)
