import { type JsonSchema, KernelError, type StandardSchema, type Tool, type ToolMeta } from '@troupe/kernel'
import { toJsonSchema } from '@troupe/kernel/kit'

/** A tool that somebody else runs, as JSON. */
export type OrderedTool = Pick<Tool, 'name' | 'displayName' | 'description' | 'kind' | 'output'> & {
  readonly parameters: JsonSchema
  readonly returnDirectly: boolean
}

/** Writes tools that a caller adds to a run. Contract: only long-running ones, which clients run; the code of any other stays where it is. */
export function orderedTools(tools: readonly ToolMeta[]): readonly OrderedTool[] {
  return tools.map(({ tool, returnDirectly }) => {
    const { name, displayName, description, kind, output, parameters, longRunning } = tool
    if (!longRunning) {
      const message = `run: the tool ${name} has code, which cannot cross to a worker; give it to the agent there, or mark it as longRunning`
      throw new KernelError('CONFIG_INVALID', message)
    }
    return {
      name,
      description,
      kind,
      parameters: toJsonSchema(parameters),
      returnDirectly,
      ...(displayName !== undefined && { displayName }),
      ...(output && { output }),
    }
  })
}

/** The tools as an agent takes them. Contract: their schemas are shown to the model and not run, because they may come from a client. */
export function toolsOf(tools: readonly OrderedTool[]): readonly ToolMeta[] {
  return tools.map(({ returnDirectly, parameters, ...tool }) => ({
    returnDirectly,
    tool: { ...tool, longRunning: true, effect: 'nested', parameters: shownSchema(parameters) },
  }))
}

function shownSchema(schema: JsonSchema): StandardSchema {
  return {
    '~standard': {
      version: 1,
      vendor: 'troupe',
      validate: (value) =>
        typeof value === 'object' && value !== null && !Array.isArray(value)
          ? { value }
          : { issues: [{ message: 'expected an object' }] },
      jsonSchema: { input: () => schema },
    },
  }
}
