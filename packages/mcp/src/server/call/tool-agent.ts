import {
  type Agent,
  type ApprovalAnswer,
  type EventDraft,
  type Json,
  KernelError,
  type RunContext,
  type Tool,
  type ToolCallInput,
  type ToolCallResult,
  type ToolOutput,
  textOf,
} from '@troupe/kernel'
import { APPROVAL_SCHEMA, checkOption, jsonLength, parseArguments, toolResult } from '@troupe/kernel/kit'
import { validateJsonSchema } from './validate-json-schema.ts'

/** The custom event for a piece of what a tool shows while it runs. */
export const TOOL_OUTPUT = 'mcp-tool-output'
/** A tool may need an approval at its first attempt and none at the next; the question stands. */
const ASKED = 'temp:mcp-approval'

/**
 * An agent without a model: its message is the arguments of one tool, its output the result.
 * Contract: a question ends the call, which runs again from its start when the answer has come.
 */
export function toolAgent(who: string, tool: Tool, maxChars: number): Agent<Json> {
  const runs = !tool.longRunning && tool.effect !== 'nested'
  checkOption(runs, who, 'a tool must give its result itself; serve an agent that has the tool', tool.name)
  return {
    name: tool.name,
    description: tool.description,
    async *run({ messages }, ctx) {
      const call = {
        name: tool.name,
        arguments: textOf(messages.at(-1)?.content ?? ''),
        callId: ctx.ids.next(),
        step: ctx.step,
        idempotencyKey: `${ctx.session.threadId}/${tool.name}`,
        tool,
      }
      let result: ToolCallResult
      try {
        result = yield* called(tool, call, ctx)
        if (jsonLength(result, maxChars) > maxChars) throw tooLarge(tool, maxChars)
      } catch (error) {
        if (ctx.signal.aborted || KernelError.is(error, 'INTERRUPTED') || tool.onError === 'throw') throw error
        const { code, message } = KernelError.from(error, 'TOOL_FAILED')
        result = { content: message, error: { code, message } }
      }
      yield { type: 'action', action: { type: 'exit', result: result as Json } }
    },
  }
}

async function* called(
  tool: Tool,
  call: ToolCallInput,
  ctx: RunContext,
): AsyncGenerator<EventDraft, ToolCallResult, undefined> {
  const args = await parseArguments(tool, call.arguments, validateJsonSchema)
  const permitted = await permission(tool, args, call, ctx)
  if ('refusal' in permitted) return permitted.refusal
  if (!tool.stream) return toolResult(tool.name, await tool.invoke?.(permitted.args, ctx, permitted.call))
  return yield* streamed(tool, permitted.args, permitted.call, ctx)
}

type Permission = { readonly args: unknown; readonly call: ToolCallInput } | { readonly refusal: ToolCallResult }

/** Asks a person where the tool wants it. Contract: what cannot be decided is asked; edited arguments are validated again. */
async function permission(tool: Tool, args: unknown, call: ToolCallInput, ctx: RunContext): Promise<Permission> {
  if (ctx.state.get(ASKED) !== true && !(await needsApproval(tool, args, ctx))) return { args, call }
  ctx.state.set(ASKED, true)
  const answer = await ctx.derive({ asker: 'approval' }).interrupt<ApprovalAnswer | null>({
    reason: 'approval',
    message: `Allow ${tool.displayName ?? tool.name}?`,
    responseSchema: APPROVAL_SCHEMA,
    metadata: { tool: tool.name, arguments: call.arguments },
  })
  if (answer?.approved !== true) {
    const message = answer?.message ?? 'The user refused this call.'
    return { refusal: { content: message, error: { code: 'TOOL_REFUSED', message } } }
  }
  if (answer.arguments === undefined) return { args, call }
  const edited = await parseArguments(tool, answer.arguments, validateJsonSchema)
  return { args: edited, call: { ...call, arguments: answer.arguments } }
}

async function needsApproval(tool: Tool, args: unknown, ctx: RunContext): Promise<boolean> {
  if (!tool.needsApproval) return false
  try {
    return (await tool.needsApproval(args, ctx)) !== false
  } catch {
    return true
  }
}

async function* streamed(
  tool: Tool,
  args: unknown,
  call: ToolCallInput,
  ctx: RunContext,
): AsyncGenerator<EventDraft, ToolCallResult, undefined> {
  let text = ''
  const chunks = tool.stream?.(args, ctx, call)[Symbol.asyncIterator]() as AsyncIterator<unknown, ToolOutput | void>
  for (;;) {
    const { value, done } = await chunks.next()
    if (done) return toolResult(tool.name, (value as ToolOutput | void) ?? text)
    const piece = typeof value === 'string' ? value : textOf([value as never])
    text += piece
    if (piece !== '') yield { type: 'custom', name: TOOL_OUTPUT, data: piece }
  }
}

function tooLarge({ name }: Tool, most: number): KernelError {
  return new KernelError('RESULT_TOO_LARGE', `tool ${name}: the result has more than ${most} characters`)
}
