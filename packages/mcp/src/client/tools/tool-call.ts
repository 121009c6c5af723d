import {
  type CallToolResult,
  type Tool as Definition,
  fromJsonSchema,
  type JsonSchemaType,
  type Progress,
} from '@modelcontextprotocol/client'
import { KernelError, type RunContext, type ToolCallResult } from '@troupe/kernel'
import { reasonOf } from '../call/call-error.ts'
import type { ServerCalls } from '../call/server-calls.ts'
import { resultOfCall } from './tool-content.ts'

type CallTool = (
  args: unknown,
  ctx: RunContext,
  key: string,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
) => Promise<ToolCallResult>

/** Makes the function that calls a tool of a server. */
export function callTool(definition: Definition, calls: ServerCalls, once: boolean): CallTool {
  const { name, outputSchema, ...rest } = definition
  // The SDK would take a question for a result without structured content, so results are checked here.
  const toolDefinition = { name, ...rest }
  const check = outputCheck(definition, calls.name)
  return async (args, ctx, key, signal, onProgress) => {
    const params = { name, arguments: args as Record<string, unknown> }
    const result = await calls.perform<CallToolResult>({
      ctx,
      key,
      signal,
      once,
      onProgress,
      send: ({ client }, input, options) => client.callTool({ ...params, ...input }, { ...options, toolDefinition }),
    })
    if ('lost' in result) return result.lost
    const { value, note } = result
    await check?.(value)
    const made = resultOfCall(value)
    return note === undefined ? made : { ...made, content: [...partsOf(made.content), { type: 'text', text: note }] }
  }
}

function partsOf(content: ToolCallResult['content']): Exclude<ToolCallResult['content'], string> {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Checks structured results against the schema that the tool has declared. */
function outputCheck(
  { name, outputSchema }: Definition,
  server: string,
): ((result: CallToolResult) => Promise<void>) | undefined {
  if (!outputSchema) return undefined
  let schema: ReturnType<typeof fromJsonSchema> | undefined
  return async ({ structuredContent, isError }) => {
    if (isError) return
    const fail = (why: string) =>
      new KernelError('MCP_CALL_FAILED', `mcp server ${server}: ${name} ${why}`, { details: { server, tool: name } })
    if (structuredContent === undefined) throw fail('has an output schema and gave no structured content')
    try {
      schema ??= fromJsonSchema(outputSchema as JsonSchemaType)
    } catch (error) {
      throw fail(`has an output schema that cannot be used: ${reasonOf(error)}`)
    }
    const { issues } = await schema['~standard'].validate(structuredContent)
    if (issues) throw fail(`gave a result that does not match its output schema: ${issues[0]?.message}`)
  }
}
