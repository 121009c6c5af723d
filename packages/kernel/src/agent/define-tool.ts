import { checkOptionNames, type OptionNames } from '../data/option.ts'
import type { Infer, Schema } from '../data/schema.ts'
import { checkTool } from './check-tool.ts'
import type { Tool, ToolDefinition } from './tool.ts'

const NAMES: OptionNames<ToolDefinition<Schema>> = {
  name: true,
  displayName: true,
  description: true,
  parameters: true,
  kind: true,
  output: true,
  effect: true,
  longRunning: true,
  onError: true,
  needsApproval: true,
  invoke: true,
  stream: true,
  checkState: true,
}
const ALIASES = {
  execute: 'invoke',
  func: 'invoke',
  handler: 'invoke',
  run: 'invoke',
  inputSchema: 'parameters',
  schema: 'parameters',
  title: 'displayName',
} as const

/**
 * Defines a tool.
 * Contract: validates the definition (`CONFIG_INVALID`, `SCHEMA_INVALID`); `kind` defaults to `execute`.
 * @example
 * const weather = defineTool({
 *   name: 'get_weather',
 *   description: 'The weather in a city.',
 *   parameters: z.object({ city: z.string() }),
 *   kind: 'read',
 *   invoke: ({ city }) => `Sunny in ${city}.`,
 * })
 */
export function defineTool<const S extends Schema>(definition: ToolDefinition<S>): Tool<Infer<S>> {
  const tool = { kind: 'execute' as const, ...definition }
  const who = definition?.name ? `tool ${definition.name}` : 'defineTool'
  checkOptionNames<ToolDefinition<Schema>>(who, definition, NAMES, ALIASES)
  checkTool(tool)
  return tool
}
