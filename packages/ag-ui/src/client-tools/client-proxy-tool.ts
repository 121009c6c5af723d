import type { Tool as AgUiTool } from '@ag-ui/core'
import type { Awaitable, JsonObject, JsonSchema, SchemaIssue, StandardSchema, Tool } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import { parametersOf } from '../input/parameters-of.ts'

/**
 * A tool that the client runs, as a tool of an agent.
 * Contract: long-running, so that a call stays open, ends the turn and is answered by a tool message of a later run; the model sees the client's schema as it is.
 * @example clientProxyTool({ name: 'pick_colour', description: 'Lets the user pick a colour.' })
 */
export function clientProxyTool(tool: Pick<AgUiTool, 'name' | 'description' | 'parameters'>): Tool {
  const { name, description } = tool
  return { name, description, kind: 'execute', longRunning: true, parameters: uncheckedSchema(parametersOf(tool)) }
}

/**
 * Wraps a client's schema without running it: an untrusted pattern or cycle of references could keep the server busy for ever.
 * The most common mistakes of models are checked by hand: that the arguments are an object, required properties, and plain types.
 */
function uncheckedSchema(schema: JsonSchema): StandardSchema {
  return {
    '~standard': {
      version: 1,
      vendor: 'ag-ui',
      validate: (value): Awaitable<{ readonly value: unknown } | { readonly issues: readonly SchemaIssue[] }> => {
        const issues = issuesOf(schema, value)
        return issues.length > 0 ? { issues } : { value }
      },
      jsonSchema: { input: () => schema },
    },
  }
}

function issuesOf({ required, properties }: JsonSchema, value: unknown): readonly SchemaIssue[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [{ message: `expected an object, ${got(value)}` }]
  }
  const issues: SchemaIssue[] = []
  for (const name of (required as readonly string[] | undefined) ?? []) {
    if (!Object.hasOwn(value, name)) issues.push({ message: 'is required', path: [name] })
  }
  for (const [name, given] of Object.entries(value)) {
    const described = Object.hasOwn((properties ?? {}) as object, name) && (properties as JsonObject)[name]
    const type = (described as { readonly type?: unknown } | null)?.type
    if (typeof type === 'string' && !fits(type, given)) {
      issues.push({ message: `expected ${type}, ${got(given)}`, path: [name] })
    }
  }
  return issues
}

function fits(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return typeof value === type
}
