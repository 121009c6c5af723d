import { got, type Infer, type JsonObject, type JsonSchema, KernelError, type Schema } from '@troupe/kernel'
import { checkKeys, isPlain, misfit } from './misfit.ts'

/** What a parameter of an agent can be. */
export type InputType = 'string' | 'number' | 'integer' | 'boolean' | 'string[]' | 'number[]'

/** One parameter of an agent. */
export type InputParameter = {
  readonly type: InputType
  /** What the caller's model is told about it. */
  readonly description: string
  /** @default false */
  readonly required?: boolean
}

/** The parameters of an agent by name, in the simple form. */
export type InputConfig = { readonly inputs: { readonly [name: string]: InputParameter } }

/** What describes the input of an agent: the simple form, a Standard Schema, or JSON Schema. */
export type AgentInputForm = InputConfig | Schema

/** The arguments an agent is called with. */
export type AgentInputs<Form = unknown> = Form extends InputConfig
  ? FromInputs<Form['inputs']> extends infer T
    ? { [K in keyof T]: T[K] }
    : never
  : Infer<Form>

type FromInputs<P extends InputConfig['inputs']> = {
  [K in keyof P as P[K] extends { readonly required: true } ? K : never]: Values[P[K]['type']]
} & { [K in keyof P as P[K] extends { readonly required: true } ? never : K]?: Values[P[K]['type']] }

interface Values {
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
/** What models and templates can call an agent or one of its inputs. */
export const NAME: RegExp = /^[A-Za-z_][\w-]{0,63}$/
/** `invoke_agent` names the agent by it. */
const TAKEN = 'agent_name'

/**
 * The JSON Schema of parameters in the simple form.
 * Contract: `required` is always there; an unknown type is `CONFIG_INVALID` and names type and parameter.
 * @example convertInputConfigToJsonSchema({ inputs: { task: { type: 'string', description: 'Task to perform', required: true } } })
 */
export function convertInputConfigToJsonSchema(config: InputConfig, who = 'input'): JsonSchema {
  const place = ['input']
  checkKeys(who, place, config, ['inputs'])
  checkKeys(who, [...place, 'inputs'], config.inputs, Object.keys(config.inputs ?? {}))
  checkParameterNames(who, config.inputs)
  const properties: Record<string, JsonObject> = {}
  const required: string[] = []
  for (const [name, parameter] of Object.entries(config.inputs)) {
    const at = [...place, 'inputs', name]
    checkKeys(who, at, parameter, ['type', 'description', 'required'])
    const { type, description, required: needed = false } = parameter
    if (!Object.hasOwn(TYPES, type)) {
      const expected = `is of an unknown type: the type of parameter ${name} is one of ${Object.keys(TYPES).join(', ')}`
      throw misfit(who, [...at, 'type'], expected, type)
    }
    if (typeof description !== 'string') throw misfit(who, [...at, 'description'], 'is a text', description)
    if (typeof needed !== 'boolean') throw misfit(who, [...at, 'required'], 'is true or false', needed)
    const { type: jsonType, ...items } = TYPES[type]
    properties[name] = { type: jsonType as string, description, ...items }
    if (needed) required.push(name)
  }
  return { type: 'object', properties, required }
}

/** Whether an input is in the simple form; JSON Schema has no keyword `inputs`. */
export function isInputConfig(form: unknown): form is InputConfig {
  return isPlain(form) && 'inputs' in form && !('~standard' in form)
}

/** Contract: throws `CONFIG_INVALID` for names that models, templates or `invoke_agent` cannot use. */
export function checkParameterNames(who: string, properties: JsonObject): void {
  for (const name of Object.keys(properties)) {
    if (name === TAKEN) throw misfit(who, ['input', 'inputs', name], 'is taken by invoke_agent; use another name', name)
    if (NAME.test(name) && name !== '__proto__') continue
    throw misfit(
      who,
      ['input', 'inputs', name],
      'is named by letters, digits, _ and -, and begins with a letter or _',
      name,
    )
  }
}

/** Contract: throws `SCHEMA_INVALID` for a schema of anything but an object. */
export function checkObjectSchema(who: string, schema: JsonSchema): void {
  if (schema.type === 'object') return
  throw new KernelError('SCHEMA_INVALID', `${who}: input describes an object, ${got(schema.type)}`, {
    details: { path: ['input'] },
  })
}
