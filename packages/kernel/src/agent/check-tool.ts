import { got, isObject, KernelError } from '../data/kernel-error.ts'
import { toJsonSchema } from '../data/schema.ts'
import type { Tool, ToolEffect, ToolKind } from './tool.ts'

const KINDS: readonly unknown[] = ['read', 'write', 'execute', 'think'] satisfies ToolKind[]
const EFFECTS: readonly unknown[] = [undefined, 'pure', 'idempotent', 'once', 'nested'] satisfies (
  | ToolEffect
  | undefined
)[]

const ON_ERROR: readonly unknown[] = [undefined, 'feedback', 'throw'] satisfies Tool['onError'][]
const OUTPUTS: readonly unknown[] = [undefined, 'text', 'markdown'] satisfies Tool['output'][]

/** Contract: throws `CONFIG_INVALID` or `SCHEMA_INVALID` for a value that is not a tool; for a tool of another framework the message names `defineTool`. */
export function checkTool(tool: Tool<never>): void {
  checkFramework(tool)
  if (!isObject(tool) || typeof tool.name !== 'string' || tool.name === '') {
    throw new KernelError('CONFIG_INVALID', `tool: expected a name, ${got(isObject(tool) ? tool.name : tool)}`)
  }
  const problem = problemOf(tool)
  if (problem !== undefined) throw new KernelError('CONFIG_INVALID', `tool ${tool.name}: ${problem}`)
  let type: unknown
  try {
    type = toJsonSchema(tool.parameters).type
  } catch (cause) {
    throw new KernelError('SCHEMA_INVALID', `tool ${tool.name}: ${KernelError.from(cause).message}`, { cause })
  }
  if (type !== 'object') {
    throw new KernelError('SCHEMA_INVALID', `tool ${tool.name}: parameters must describe an object, ${got(type)}`)
  }
}

/** Says what is wrong with the first member that is. */
function problemOf(tool: Tool<never>): string | undefined {
  const { description, kind, effect, invoke, stream, onError, output, longRunning } = tool
  if (typeof description !== 'string') return `expected a description, ${got(description)}`
  if (!KINDS.includes(kind)) return `kind must be one of ${KINDS.join(', ')}, ${got(kind)}`
  if (!EFFECTS.includes(effect)) return `effect must be one of ${EFFECTS.slice(1).join(', ')}, ${got(effect)}`
  const problem = problemOfFunctions(tool)
  if (problem !== undefined) return problem
  if (!ON_ERROR.includes(onError)) return `onError must be feedback or throw, ${got(onError)}`
  if (!OUTPUTS.includes(output)) return `output must be text or markdown, ${got(output)}`
  if (![undefined, true, false].includes(longRunning)) return `longRunning must be true or false, ${got(longRunning)}`
  if (!invoke && !stream && !longRunning) return 'expected invoke, stream or longRunning, got none of them'
  return undefined
}

function problemOfFunctions({ invoke, stream, needsApproval }: Tool<never>): string | undefined {
  for (const body of [invoke, stream]) {
    if (body !== undefined && typeof body !== 'function') return `invoke and stream are functions, ${got(body)}`
  }
  if (needsApproval === undefined || typeof needsApproval === 'function') return undefined
  return `needsApproval must be a function like () => true, ${got(needsApproval)}`
}

const FOREIGN = ['execute', 'inputSchema', 'lc_namespace', 'func', 'schema', 'function', 'input_schema']

/** Contract: throws `CONFIG_INVALID` for a tool of another framework. */
function checkFramework(tool: unknown): void {
  if (!isObject(tool) || (tool.parameters !== undefined && tool.execute === undefined) || tool.kind !== undefined)
    return
  const signs = FOREIGN.filter((name) => tool[name] !== undefined)
  if (signs.length === 0) return
  const who = typeof tool.name === 'string' && tool.name !== '' ? `tool ${tool.name}` : 'tool'
  throw new KernelError(
    'CONFIG_INVALID',
    `${who}: is a tool of another framework (it has ${signs.join(', ')}); make one of it: defineTool({ name, description, parameters, invoke })`,
  )
}
