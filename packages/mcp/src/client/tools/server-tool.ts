import type { Tool as Definition } from '@modelcontextprotocol/client'
import { defineTool, type JsonSchema, type RunContext, type Tool, type ToolEffect, type ToolKind } from '@troupe/kernel'
import { abortScope } from '@troupe/kernel/kit'
import type { ServerCalls } from '../call/server-calls.ts'
import type { McpServer } from '../settings/mcp-server.ts'
import { ProgressLines } from './progress.ts'
import { callTool } from './tool-call.ts'

const MAX_DESCRIPTION = 4000
/** A schema has descriptions too. */
const MAX_SCHEMA = 100_000

/** A tool of a server as a tool of an agent. Contract: throws for a definition that no model could use. */
export function serverTool(definition: Definition, name: string, server: McpServer, calls: ServerCalls): Tool {
  const { description = '', title, annotations, inputSchema } = definition
  if (JSON.stringify(inputSchema).length > MAX_SCHEMA)
    throw new Error(`its schema has more than ${MAX_SCHEMA} characters`)
  const { kind, effect } = server.trusted ? trustedEffects(annotations) : UNTRUSTED
  const asks = approvalOf(definition.name, server)
  const displayName = title ?? annotations?.title
  const call = callTool(definition, calls, effect === 'once')
  return defineTool({
    name,
    description: description.slice(0, MAX_DESCRIPTION),
    parameters: inputSchema as JsonSchema,
    kind,
    effect,
    ...(displayName !== undefined && { displayName: displayName.slice(0, 100) }),
    ...(asks && { needsApproval: asks }),
    async *stream(args, ctx, { idempotencyKey }) {
      using scope = abortScope(ctx.signal)
      const progress = new ProgressLines()
      const result = call(args, ctx, idempotencyKey, scope.signal, (step) => progress.push(step))
      try {
        yield* progress.until(result)
        return await result
      } finally {
        // A reader that leaves the stream stops the call.
        scope.abort(LEFT)
      }
    },
  })
}

const LEFT = new Error('nobody waits for the result')
const UNTRUSTED: { readonly kind: ToolKind; readonly effect: ToolEffect } = { kind: 'write', effect: 'once' }

function trustedEffects(annotations: Definition['annotations']): typeof UNTRUSTED {
  if (annotations?.readOnlyHint) return { kind: 'read', effect: 'idempotent' }
  return { kind: 'write', effect: annotations?.idempotentHint ? 'idempotent' : 'once' }
}

function approvalOf(tool: string, { trusted = false, needsApproval = !trusted }: McpServer): Tool['needsApproval'] {
  if (needsApproval === false) return undefined
  if (needsApproval === true) return () => true
  return (args: unknown, ctx: RunContext) => needsApproval(tool, args, ctx)
}
