import { type ChatModel, type Infer, type JsonObject, type JsonSchema, KernelError, type Schema } from '@troupe/kernel'
import { checkModel, toJsonSchema } from '@troupe/kernel/kit'
import { type AgentLimits, checkLimits } from './agent-limits.ts'
import { checkKeys, configError } from './config-error.ts'
import {
  type AgentInputForm,
  type AgentInputs,
  checkObjectSchema,
  checkParameterNames,
  convertInputConfigToJsonSchema,
  isInputConfig,
  NAME,
} from './input-config.ts'
import { checkTemplateNames, compileTemplate } from './template.ts'
import { ownSelection, type ToolSelection } from './tool-selection.ts'
import { validateJsonSchema } from './validate-json-schema.ts'

/** The options of `defineAgent`. */
export interface AgentOptions<Form extends AgentInputForm = AgentInputForm, Output extends Schema = Schema> {
  /** The name of the agent and of its tool. */
  readonly name: string
  /** @default name */
  readonly displayName?: string
  /** The purpose of the agent, by which the caller's model decides to call it. */
  readonly description: string
  /** The agent's input. */
  readonly input: Form
  /** The schema of the result. @default one text */
  readonly output?: Output
  /** Its instruction, in which `${name}` stands for an input. */
  readonly prompt: string
  /** Its first message, in which `${name}` stands for an input. @default the inputs themselves: a single text as it is, others as JSON */
  readonly query?: string
  /** A model, or the name of one of the environment's. @default the environment's model */
  readonly model?: ChatModel | string
  /** The tools and agents it may call, out of those that its caller has. @default [] */
  readonly tools?: ToolSelection
  readonly limits?: AgentLimits
}

/** An agent that can be called as a tool. Contract: made by `defineAgent`; frozen. */
export interface AgentDefinition<Inputs = unknown, Output = unknown> extends AgentOptions {
  /** The schema for its arguments: the given Standard Schema, or JSON Schema. */
  readonly parameters: Schema
  readonly '~inputs'?: Inputs
  readonly '~output'?: Output
}

/** The name of the tool with which an agent submits its result. */
export const COMPLETE_TASK = 'complete_task'
/** The name of the one tool that calls any agent. */
export const INVOKE_AGENT = 'invoke_agent'

/** Returns whether a name is that of `complete_task` or `invoke_agent`. */
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
 * Contract: pure; throws `CONFIG_INVALID` or `SCHEMA_INVALID` for any mistake, so that none is left for when the agent runs.
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
  const { name, input, output, model, tools, limits, ...texts } = options as Partial<AgentOptions>
  checkName(name)
  const who = `agent ${name}`
  checkTexts(who, texts)
  const parameters = parametersOf(who, input)
  if (output !== undefined) located(who, 'output', () => usable(toJsonSchema(output)))
  checkTemplates(who, texts, parameters)
  if (model !== undefined) checkModelOption(who, model)
  if (limits !== undefined) checkLimits(who, limits)
  const definition = Object.assign({}, options as AgentOptions, {
    parameters,
    // Copies, so that later changes to the given options have no effect.
    ...(tools !== undefined && { tools: ownSelection(who, tools) }),
    ...(limits !== undefined && { limits: Object.freeze({ ...limits }) }),
  })
  Object.defineProperty(definition, MARK, { value: true })
  return Object.freeze(definition) as never
}

/** Returns whether `defineAgent` made a value, also in another copy of this package. */
export function isDefinition(value: unknown): value is AgentDefinition {
  return typeof value === 'object' && value !== null && MARK in value
}

/** Gives the options a definition was made from. */
export function optionsOf({ parameters: _, ...options }: AgentDefinition): AgentOptions {
  return options
}

function whoOf(options: unknown): string {
  const { name } = Object(options) as { readonly name?: unknown }
  return typeof name === 'string' && name !== '' ? `agent ${name}` : 'agent'
}

function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || !NAME.test(name) || name === '__proto__') {
    throw configError(
      'agent',
      ['name'],
      'must have at most 64 letters, digits, _ and -, and begin with a letter or _',
      name,
    )
  }
  if (isReserved(name)) throw configError('agent', ['name'], 'must not be a reserved name', name)
}

type Texts = Pick<Partial<AgentOptions>, 'displayName' | 'description' | 'prompt' | 'query'>

function checkTexts(who: string, { displayName, description, prompt, query }: Texts): void {
  const given = {
    ...(displayName !== undefined && { displayName }),
    description,
    prompt,
    ...(query !== undefined && { query }),
  }
  for (const [key, text] of Object.entries(given)) {
    if (typeof text !== 'string' || text.trim() === '')
      throw configError(who, [key], 'must be a text that is not blank', text)
  }
}

function checkTemplates(who: string, { prompt, query }: Texts, parameters: Schema): void {
  const properties = (toJsonSchema(parameters).properties ?? {}) as JsonObject
  for (const [key, text] of Object.entries({ prompt, query })) {
    if (text !== undefined) checkTemplateNames(compileTemplate(text, who, [key]), properties, who, [key])
  }
}

function checkModelOption(who: string, model: ChatModel | string): void {
  if (model === '') throw configError(who, ['model'], 'must be a ChatModel or the name of one', model)
  if (typeof model !== 'string') located(who, 'model', () => checkModel(who, 'model', model))
}

function parametersOf(who: string, input: AgentInputForm | undefined): Schema {
  if (input === undefined)
    throw configError(who, ['input'], 'must be { inputs }, a Standard Schema or JSON Schema', input)
  if (isInputConfig(input)) return convertInputConfigToJsonSchema(input, who)
  return located(who, 'input', () => {
    const schema = usable(toJsonSchema(input))
    checkObjectSchema(who, schema)
    checkParameterNames(who, (schema.properties ?? {}) as JsonObject)
    return '~standard' in input ? input : { ...schema, required: schema.required ?? [] }
  })
}

/** Contract: throws for a schema that cannot validate anything, such as one with a dangling reference. */
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
