import { type Infer, type JsonObject, type JsonSchema, KernelError, type Schema } from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import { checkKeys, configError, isPlain } from './config-error.ts'

/** The type of an agent's parameter. */
export type InputType = 'string' | 'number' | 'integer' | 'boolean' | 'string[]' | 'number[]'

/** One parameter of an agent. */
export type InputParameter = {
  readonly type: InputType
  /** Explains the parameter to the caller's model. */
  readonly description: string
  /** @default false */
  readonly required?: boolean
}

/** The parameters of an agent by name, in the simple form. */
export type InputConfig = { readonly inputs: { readonly [name: string]: InputParameter } }

/** The description of an agent's input: the simple form, a Standard Schema, or JSON Schema. */
export type AgentInputForm = InputConfig | Schema

/** The arguments an agent is called with. */
export type AgentInputs<Form = unknown> = Form extends InputConfig
  ? FromInputs<Form['inputs']> extends infer T
    ? { [K in keyof T]: T[K] }
    : never
  : Infer<Form>

type FromInputs<P extends InputConfig['inputs']> = {
  [K in keyof P as P[K] extends { readonly required: true } ? K : never]: InputValues[P[K]['type']]
} & { [K in keyof P as P[K] extends { readonly required: true } ? never : K]?: InputValues[P[K]['type']] }

interface InputValues {
  readonly string: string
  readonly number: number
  readonly integer: number
  readonly boolean: boolean
  readonly 'string[]': readonly string[]
  readonly 'number[]': readonly number[]
}

const TYPES: { readonly [type in InputType]: JsonObject } = {
  string: { type: 'string' },
  number: { type: 'number' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  'string[]': { type: 'array', items: { type: 'string' } },
  'number[]': { type: 'array', items: { type: 'number' } },
}
/** The names that models and templates can use for an agent or one of its inputs. */
export const NAME: RegExp = /^[A-Za-z_][\w-]{0,63}$/
/** The argument of `invoke_agent` that names the agent. */
const RESERVED_INPUT = 'agent_name'

/**
 * Converts parameters in the simple form to JSON Schema.
 * Contract: `required` is always present; throws `CONFIG_INVALID` with type and parameter for an unknown type.
 * @example convertInputConfigToJsonSchema({ inputs: { task: { type: 'string', description: 'Task to perform', required: true } } })
 */
export function convertInputConfigToJsonSchema(config: InputConfig, who = 'input'): JsonSchema {
  const path = ['input']
  checkKeys(who, path, config, ['inputs'])
  checkKeys(who, [...path, 'inputs'], config.inputs, Object.keys(config.inputs ?? {}))
  checkParameterNames(who, config.inputs)
  const properties: Record<string, JsonObject> = {}
  const required: string[] = []
  for (const [name, parameter] of Object.entries(config.inputs)) {
    const at = [...path, 'inputs', name]
    checkKeys(who, at, parameter, ['type', 'description', 'required'])
    const { type, description, required: needed = false } = parameter
    if (!Object.hasOwn(TYPES, type)) {
      const expected = `is an unknown type: the type of parameter ${name} must be one of ${Object.keys(TYPES).join(', ')}`
      throw configError(who, [...at, 'type'], expected, type)
    }
    if (typeof description !== 'string') throw configError(who, [...at, 'description'], 'must be a text', description)
    if (typeof needed !== 'boolean') throw configError(who, [...at, 'required'], 'must be true or false', needed)
    const { type: jsonType, ...items } = TYPES[type]
    properties[name] = { type: jsonType as string, description, ...items }
    if (needed) required.push(name)
  }
  return { type: 'object', properties, required }
}

/** Returns whether an input is in the simple form; JSON Schema has no keyword `inputs`. */
export function isInputConfig(form: unknown): form is InputConfig {
  return isPlain(form) && 'inputs' in form && !('~standard' in form)
}

/** Contract: throws `CONFIG_INVALID` for names that models, templates or `invoke_agent` cannot use. */
export function checkParameterNames(who: string, properties: JsonObject): void {
  for (const name of Object.keys(properties)) {
    if (name === RESERVED_INPUT)
      throw configError(who, ['input', 'inputs', name], 'is reserved for invoke_agent; use another name', name)
    if (NAME.test(name) && name !== '__proto__') continue
    throw configError(
      who,
      ['input', 'inputs', name],
      'must have a name of letters, digits, _ and - that begins with a letter or _',
      name,
    )
  }
}

/** Contract: throws `SCHEMA_INVALID` unless the schema describes an object. */
export function checkObjectSchema(who: string, schema: JsonSchema): void {
  if (schema.type === 'object') return
  throw new KernelError('SCHEMA_INVALID', `${who}: input must describe an object, ${got(schema.type)}`, {
    details: { path: ['input'] },
  })
}
