import type { GetPromptResult, Prompt } from '@modelcontextprotocol/client'
import { defineTool, type Tool } from '@troupe/kernel'
import type { ServerCalls } from '../call/server-calls.ts'
import type { McpServer } from '../settings/mcp-server.ts'
import { readRequest } from './read-request.ts'
import { contentOfParts, partOf } from './tool-content.ts'
import { toolName } from './tool-name.ts'

const MAX_DESCRIPTION = 4000

/** A prompt of a server as a tool that gives its messages as text. */
export function promptTool(prompt: Prompt, prefix: string, { trusted = false }: McpServer, calls: ServerCalls): Tool {
  const { name, description = '', arguments: fields = [] } = prompt
  return defineTool({
    name: toolName(prefix, `prompt_${name}`),
    description: `Gives the prompt ${name} of ${calls.name}. ${description}`.slice(0, MAX_DESCRIPTION),
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        fields.map(({ name, description = name }) => [
          name,
          { type: 'string', description: description.slice(0, MAX_DESCRIPTION) },
        ]),
      ),
      required: fields.flatMap((field) => (field.required ? [field.name] : [])),
    },
    kind: 'read',
    effect: 'idempotent',
    ...(!trusted && { needsApproval: () => true }),
    invoke: (args, ctx, call) =>
      readRequest<GetPromptResult>(
        calls,
        ctx,
        call,
        ({ client }, input, options) =>
          client.getPrompt({ name, arguments: args as Record<string, string>, ...input }, options),
        ({ messages }) => contentOfParts(messages.map(({ content }) => partOf(content))),
      ),
  })
}
