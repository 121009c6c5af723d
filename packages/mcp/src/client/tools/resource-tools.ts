import type { ReadResourceResult } from '@modelcontextprotocol/client'
import { defineTool, type Tool } from '@troupe/kernel'
import type { ServerCalls } from '../call/server-calls.ts'
import type { McpServer } from '../settings/mcp-server.ts'
import { readRequest } from './read-request.ts'
import { contentOfParts, resourcePart } from './tool-content.ts'
import { toolName } from './tool-name.ts'

const MAX_RESOURCES = 200

/** The tools that list and read the resources of a server. */
export function resourceTools(prefix: string, { trusted = false }: McpServer, calls: ServerCalls): readonly Tool[] {
  const shared = { kind: 'read', effect: 'idempotent', ...(!trusted && { needsApproval: () => true }) } as const
  const list = defineTool({
    ...shared,
    name: toolName(prefix, 'list_resources'),
    description: `Lists the resources of ${calls.name}: their names and addresses.`,
    parameters: { type: 'object', properties: {} },
    invoke: (_args, ctx, call) =>
      readRequest<{ readonly lines: readonly string[] }>(
        calls,
        ctx,
        call,
        async ({ client }, _input, options) => {
          const { resources } = await client.listResources(undefined, options)
          const { resourceTemplates } = await client.listResourceTemplates(undefined, options)
          const lines = resources.map(({ name, uri }) => `${name}: ${uri}`)
          const templates = resourceTemplates.map(({ name, uriTemplate }) => `${name}: ${uriTemplate}`)
          return { lines: [...lines, ...templates].slice(0, MAX_RESOURCES) }
        },
        ({ lines }) => lines.join('\n'),
      ),
  })
  const read = defineTool({
    ...shared,
    name: toolName(prefix, 'read_resource'),
    description: `Reads a resource of ${calls.name} by its address.`,
    parameters: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
    invoke: ({ uri }, ctx, call) =>
      readRequest<ReadResourceResult>(
        calls,
        ctx,
        call,
        ({ client }, input, options) => client.readResource({ uri, ...input }, { ...options, cacheMode: 'bypass' }),
        ({ contents }) => contentOfParts(contents.map(resourcePart)),
      ),
  })
  return [list, read] as readonly Tool[]
}
