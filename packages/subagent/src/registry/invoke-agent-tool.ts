import {
  defineTool,
  type Json,
  type JsonObject,
  type JsonSchema,
  KernelError,
  type Tool,
  type ToolCallResult,
} from '@troupe/kernel'
import { toJsonSchema } from '@troupe/kernel/kit'
import { INVOKE_AGENT } from '../define/define-agent.ts'
import { guardedBy } from '../execute/caller-guards.ts'
import type { ToolGuard } from '../execute/environment.ts'
import type { SubagentTool } from '../execute/subagent-tool.ts'

/**
 * Makes one tool for all agents: `invoke_agent { agent_name, … }`, with the inputs of the agent beside its name.
 * Contract: validates the arguments against the schema of the named agent and runs it like its own tool, so that a guard decides on
 * both: on `invoke_agent`, and on the agent.
 */
export function invokeAgentTool(tools: readonly SubagentTool[], guard?: ToolGuard): Tool {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const tool = defineTool({
    name: INVOKE_AGENT,
    displayName: 'Invoke agent',
    description: describe(tools),
    parameters: parametersOf(tools),
    kind: 'think',
    output: 'markdown',
    effect: 'nested',
    async invoke(args: unknown, ctx, call): Promise<ToolCallResult> {
      const { agent_name: name, ...inputs } = args as { agent_name: string } & Record<string, unknown>
      const tool = byName.get(name)
      if (!tool) {
        const known = [...byName.keys()].join(', ') || 'none'
        return failed(
          new KernelError('SUBAGENT_UNKNOWN', `${INVOKE_AGENT}: agent_name must be one of ${known}, got "${name}"`),
        )
      }
      let validated: unknown
      try {
        validated = await tool.validate(inputs)
      } catch (cause) {
        const { code, message, details } = KernelError.from(cause, 'VALIDATION_FAILED')
        return failed(new KernelError(code, `agent ${name}: arguments are not valid, ${message}`, { details }))
      }
      return tool.invoke(validated, ctx, { ...call, name, arguments: JSON.stringify(inputs), tool })
    },
  }) as Tool
  return guard ? guardedBy([guard], tool, []) : tool
}

function failed(error: KernelError): ToolCallResult {
  return { content: `Error: ${error.message}`, error: error.toJSON() }
}

function describe(tools: readonly SubagentTool[]): string {
  if (tools.length === 0) return 'Calls an agent. There are no agents.'
  const lines = tools.map((tool) => {
    const { properties = {}, required = [] } = schemaOf(tool)
    const needed = required as readonly Json[]
    const inputs = Object.keys(properties as JsonObject).map((name) => (needed.includes(name) ? name : `${name}?`))
    return `- ${tool.name} (${inputs.join(', ')}): ${tool.description}`
  })
  return `Calls an agent by its name, with its inputs beside the name.\n${lines.join('\n')}`
}

/** Merges the inputs of all agents; the description says which agent has which, and the call is validated when it runs. */
function parametersOf(tools: readonly SubagentTool[]): JsonSchema {
  const forms = new Map<string, Map<string, JsonObject>>()
  for (const tool of tools) {
    for (const [name, schema] of Object.entries((schemaOf(tool).properties ?? {}) as JsonObject)) {
      const text = JSON.stringify(schema)
      const known = forms.get(name) ?? new Map<string, JsonObject>()
      // A reference cannot be resolved outside its own schema.
      if (!text.includes('"$ref"') && typeof schema === 'object') known.set(text, schema as JsonObject)
      forms.set(name, known)
    }
  }
  const properties: Record<string, JsonObject> = {
    agent_name: { type: 'string', description: 'The agent to call.', ...enumOf(tools) },
  }
  for (const [name, known] of forms) {
    const [first = {}, ...more] = known.values()
    properties[name] = more.length === 0 ? first : { anyOf: [first, ...more] }
  }
  return { type: 'object', properties, required: ['agent_name'] }
}

function enumOf(tools: readonly SubagentTool[]): JsonObject {
  return tools.length === 0 ? {} : { enum: tools.map(({ name }) => name) }
}

function schemaOf({ parameters }: SubagentTool): JsonSchema {
  return toJsonSchema(parameters)
}
