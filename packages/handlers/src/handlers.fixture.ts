import type {
  AgentHandler,
  AssistantMessage,
  Content,
  InvokeTool,
  Message,
  Part,
  RunContext,
  Tool,
  ToolCallInput,
  ToolCallResult,
  ToolMessage,
} from '@troupe/kernel'
import { hookOf, pipe } from '@troupe/kernel/kit'
import { createRunContext } from '@troupe/kernel/run'
import { fakeClock } from '@troupe/testkit'

/** A tool that is pure unless `overrides` say otherwise. */
export function toolOf(overrides: Partial<Tool> = {}): Tool {
  const parameters = { type: 'object' } as const
  return {
    name: 'look',
    description: '',
    parameters,
    kind: 'read',
    effect: 'pure',
    invoke: () => 'seen',
    ...overrides,
  }
}

export const LOOK: Tool = toolOf()

let calls = 0

/** A call with an id of its own. */
export function callOf(args: unknown = {}, overrides: Partial<ToolCallInput> = {}): ToolCallInput {
  const callId = `call-${++calls}`
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  const tool = overrides.tool ?? LOOK
  return { name: tool.name, arguments: text, callId, step: 'tool:0:0', idempotencyKey: callId, tool, ...overrides }
}

/** A context of a user, with a stopped clock. */
export function contextOf(user = 'ann', settings: Parameters<typeof createRunContext>[0] = {}): RunContext {
  return createRunContext({ session: { app: 'test', user, threadId: 't1' }, clock: fakeClock(0), ...settings })
}

/** The wrap of a handler around `next`. */
export function wrapped(handler: AgentHandler, next: InvokeTool): InvokeTool {
  const wrap = hookOf(handler, 'wrapInvokableToolCall')
  return wrap ? (ctx, input) => wrap(ctx, input, next) : next
}

/** Streams a call through a handler that has only the invokable wrap, as an agent adapts it: chunks pass, then the result. */
export async function streamedThrough(
  handler: AgentHandler,
  ctx: RunContext,
  input: ToolCallInput,
  chunks: readonly (string | Part)[],
  content: Content = 'streamed',
): Promise<{ readonly shown: readonly (string | Part)[]; readonly result: ToolCallResult }> {
  const shown: (string | Part)[] = []
  const result = await wrapped(handler, async () => {
    const write = (chunk: string | Part) => void shown.push(chunk)
    const all = async function* () {
      yield* chunks
    }
    await pipe(all(), { write })
    return { content }
  })(ctx, input)
  return { shown, result }
}

/** Runs everything that is ready to run. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

export function user(id: string, content: Content = id): Message {
  return { id, role: 'user', content }
}

export function system(id: string, content: Content = id): Message {
  return { id, role: 'system', content }
}

export function assistant(id: string, content: Content = id, callIds: readonly string[] = []): AssistantMessage {
  const toolCalls = callIds.map((callId) => ({ id: callId, name: 'look', arguments: '{}' }))
  return { id, role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) }
}

export function result(callId: string, content: Content = callId, overrides: Partial<ToolMessage> = {}): ToolMessage {
  return { id: `r-${callId}`, role: 'tool', callId, name: 'look', content, ...overrides }
}

export const ids = (messages: readonly Message[]): readonly string[] => messages.map(({ id }) => id)
