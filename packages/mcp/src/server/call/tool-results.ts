import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ErrorInfo, Interrupt, Json, JsonObject, RunResult, ToolCallResult } from '@troupe/kernel'
import { jsonLength } from '@troupe/kernel/kit'
import { contentBlocks } from './content.ts'
import type { OfferedTool } from './offered-tool.ts'
import { publicError } from './public-error.ts'
import { messageOf } from './questions.ts'

/** Where a result says which conversation it belongs to, and a program may name a new one. */
export const THREAD_KEY = 'troupe/thread'

/** A failed call. Contract: an error of the tool for the client's model, with a code first. */
export function failed(code: string, message: string): CallToolResult {
  return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true }
}

/** An error of a run as clients may see it. */
export function failedBy(error: Pick<ErrorInfo, 'code'>): CallToolResult {
  const { code, message } = publicError(error)
  return failed(code, message)
}

/** Questions that this client cannot be asked, or has not answered. */
export function unanswered(
  offered: OfferedTool,
  threadId: string,
  open: readonly Interrupt[],
  why: string,
): CallToolResult {
  const questions = open.map((interrupt) => messageOf(interrupt)).join('\n')
  return inThread(offered, failed('INTERRUPT_UNANSWERED', `${why}\n${questions}`), threadId)
}

/** The result of a run that is complete. */
export function resultOf(
  offered: OfferedTool,
  result: Pick<RunResult, 'text' | 'output'>,
  threadId: string,
  maxChars: number,
): CallToolResult {
  const { text, output } = result
  const made =
    offered.kind === 'tool' ? toolResult(output as ToolCallResult) : agentResult(offered, text, output as Json)
  const bounded = jsonLength(made, maxChars) > maxChars ? failedBy({ code: 'RESULT_TOO_LARGE' }) : made
  return inThread(offered, bounded, threadId)
}

function toolResult({ content, data, error }: ToolCallResult): CallToolResult {
  return {
    content: contentBlocks(content),
    ...(isObject(data) && { structuredContent: data }),
    ...(error && { isError: true }),
  }
}

function agentResult({ outputSchema }: OfferedTool, text: string, output: Json | undefined): CallToolResult {
  if (outputSchema && output === undefined) return failed('AGENT_ERROR', 'The agent gave no structured output.')
  const said = text === '' && output !== undefined ? JSON.stringify(output) : text
  return {
    content: [{ type: 'text', text: said }],
    ...(isObject(output) && { structuredContent: output }),
  }
}

/** Names the conversation of an agent, in the text too: a model can go on with it only if it reads the id. */
export function inThread({ kind }: OfferedTool, result: CallToolResult, threadId: string): CallToolResult {
  if (kind === 'tool') return result
  const annotations = { audience: ['assistant' as const] }
  const note = { type: 'text' as const, text: `thread: ${threadId}`, annotations }
  return { ...result, content: [...result.content, note], _meta: { [THREAD_KEY]: threadId } }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
