import {
  type ChatModel,
  checkModel,
  type Infer,
  type JsonObject,
  type JsonSchema,
  KernelError,
  type Schema,
  toJsonSchema,
} from '@troupe/kernel'
import {
  type AgentInputForm,
  type AgentInputs,
  checkObjectSchema,
  checkParameterNames,
  convertInputConfigToJsonSchema,
  isInputConfig,
  NAME,
} from './input.ts'
import { type AgentLimits, checkLimits } from './limits.ts'
import { checkKeys, misfit } from './misfit.ts'
import { checkTemplateNames, compileTemplate } from './template.ts'
import { ownSelection, type ToolSelection } from './tool-selection.ts'
import { validateJsonSchema } from './validator.ts'

/** What an agent is made of. */
export interface AgentOptions<Form extends AgentInputForm = AgentInputForm, Output extends Schema = Schema> {
  /** The name of the tool that it becomes. */
  readonly name: string
  /** @default name */
  readonly displayName?: string
  /** What the agent is for: the caller's model decides by it. */
  readonly description: string
  /** What it is called with. */
  readonly input: Form
  /** What it hands in. @default one text */
  readonly output?: Output
  /** Its instruction, in which `${name}` stands for an input. */
  readonly prompt: string
  /** Its first message, in which `${name}` stands for an input. @default the inputs themselves: a single text as it is, others as JSON */
  readonly query?: string
  /** A model, or the name of one of the environment's. @default the environment's model */
  readonly model?: ChatModel | string
  /** What it gets of the tools and agents that its caller has. @default [] */
  readonly tools?: ToolSelection
  readonly limits?: AgentLimits
}

/** An agent that can be called as a tool. Contract: made by `defineAgent`; frozen. */
export interface AgentDefinition<Inputs = unknown, Output = unknown> extends AgentOptions {
  /** What arguments are validated against: the Standard Schema that was given, or JSON Schema. */
  readonly parameters: Schema
  readonly '~inputs'?: Inputs
  readonly '~output'?: Output
}

/** The completion tool and the tool of all agents. */
export const COMPLETE_TASK = 'complete_task'
export const INVOKE_AGENT = 'invoke_agent'

/** Whether a name is one of theirs. */
export function isReserved(name: string): boolean {
  return name === COMPLETE_TASK || name === INVOKE_AGENT
}

const KEYS: readonly (keyof AgentOptions)[] = [
  'name',
  'displayName',
  'description',
  'input',
  'output',
  'prompt',
  'query',
  'model',
  'tools',
  'limits',
]
const MARK = Symbol.for('troupe.AgentDefinition')

/**
 * Defines an agent that others call as a tool.
 * Contract: pure; whatever is wrong is `CONFIG_INVALID` or `SCHEMA_INVALID` here and not when the agent runs.
 * @example
 * const investigator = defineAgent({
 *   name: 'codebase_investigator',
 *   description: 'Finds what matters in a code base.',
 *   input: { inputs: { objective: { type: 'string', description: 'Investigation goal', required: true } } },
 *   prompt: 'You investigate a code base. Your objective: ${objective}',
 *   tools: ['read_*', 'grep'],
 * })
 */
export function defineAgent<const Form extends AgentInputForm, const Output extends Schema = never>(
  options: AgentOptions<Form, Output>,
): AgentDefinition<AgentInputs<Form>, [Output] extends [never] ? string : Infer<Output>> {
  checkKeys(whoOf(options), [], options, KEYS)
  const { name, displayName, description, input, output, prompt, query, model, tools, limits } =
    options as Partial<AgentOptions>
  checkName(name)
  const who = `agent ${name}`
  const texts = { displayName, description, prompt, query }
  for (const [key, text] of Object.entries(texts)) {
    if (text === undefined && (key === 'displayName' || key === 'query')) continue
    if (typeof text !== 'string' || text.trim() === '') throw misfit(who, [key], 'is a text', text)
  }
  const parameters = parametersOf(who, input)
  if (output !== undefined) located(who, 'output', () => usable(toJsonSchema(output)))
  const properties = (toJsonSchema(parameters).properties ?? {}) as JsonObject
  for (const [key, text] of Object.entries({ prompt, query })) {
    if (text !== undefined) checkTemplateNames(compileTemplate(text, who, [key]), properties, who, [key])
  }
  if (model === '') throw misfit(who, ['model'], 'is a ChatModel or the name of one', model)
  if (model !== undefined && typeof model !== 'string') located(who, 'model', () => checkModel(who, 'model', model))
  if (limits !== undefined) checkLimits(who, limits)
  const definition = Object.assign({}, options as AgentOptions, {
    parameters,
    // What was checked is what holds, whoever else holds the options.
    ...(tools !== undefined && { tools: ownSelection(who, tools) }),
    ...(limits !== undefined && { limits: Object.freeze({ ...limits }) }),
  })
  Object.defineProperty(definition, MARK, { value: true })
  return Object.freeze(definition) as never
}

/** Whether `defineAgent` made it, be it that of another copy of this package. */
export function isDefinition(value: unknown): value is AgentDefinition {
  return typeof value === 'object' && value !== null && MARK in value
}

/** What a definition was made of. */
export function optionsOf({ parameters: _, ...options }: AgentDefinition): AgentOptions {
  return options
}

function whoOf(options: unknown): string {
  const { name } = Object(options) as { readonly name?: unknown }
  return typeof name === 'string' && name !== '' ? `agent ${name}` : 'agent'
}

function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || !NAME.test(name) || name === '__proto__') {
    throw misfit(
      'agent',
      ['name'],
      'is made of letters, digits, _ and -, up to 64, and begins with a letter or _',
      name,
    )
  }
  if (isReserved(name)) throw misfit('agent', ['name'], 'is reserved', name)
}

function parametersOf(who: string, input: AgentInputForm | undefined): Schema {
  if (input === undefined) throw misfit(who, ['input'], 'is { inputs }, a Standard Schema or JSON Schema', input)
  if (isInputConfig(input)) return convertInputConfigToJsonSchema(input, who)
  return located(who, 'input', () => {
    const schema = usable(toJsonSchema(input))
    checkObjectSchema(who, schema)
    checkParameterNames(who, (schema.properties ?? {}) as JsonObject)
    return '~standard' in input ? input : { ...schema, required: schema.required ?? [] }
  })
}

/** Contract: throws for a schema that nothing can be validated against, such as one with a reference to nowhere. */
function usable(schema: JsonSchema): JsonSchema {
  try {
    validateJsonSchema(schema, {})
    return schema
  } catch (cause) {
    throw new KernelError('SCHEMA_INVALID', `schema: ${KernelError.from(cause).message}`, { cause })
  }
}

function located<T>(who: string, key: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const { code, message, details } = KernelError.from(cause, 'SCHEMA_INVALID')
    if ('path' in details) throw cause
    throw new KernelError(code, `${who}: ${key}, ${message}`, { cause, details: { path: [key] } })
  }
}
