/** A field of a form, as JSON Schema describes it. */
export interface FieldSchema {
  readonly type?: string
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly enumNames?: readonly string[]
  readonly oneOf?: readonly { readonly const?: unknown; readonly title?: string }[]
  readonly items?: FieldSchema
  readonly default?: unknown
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
}

/** A field of a form. */
export interface FormField {
  readonly name: string
  readonly schema: FieldSchema
  readonly isRequired: boolean
}

/** What a form asks for. */
export interface FormSchema {
  readonly fields: readonly FormField[]
  /** Whether the answer is the value of the only field, and no object. */
  readonly isBare: boolean
}

/** One of the values that a field can have. */
export interface Choice {
  readonly value: unknown
  readonly label: string
}

/**
 * What a question asks for.
 * Contract: a schema that is no object is one field, whose value is the answer; a question without a schema gets `{ answer }`.
 */
export function formOf(schema: unknown): FormSchema {
  const given = (schema ?? {}) as FieldSchema & {
    readonly properties?: Readonly<Record<string, FieldSchema>>
    readonly required?: readonly string[]
  }
  if (given.properties) {
    const { properties, required = [] } = given
    const fields = Object.entries(properties).map(([name, field]) => ({
      name,
      schema: field,
      isRequired: required.includes(name),
    }))
    return { fields, isBare: false }
  }
  const isBare = given.type !== undefined || given.enum !== undefined || given.oneOf !== undefined
  const field = isBare ? given : { type: 'string' }
  return { fields: [{ name: 'answer', schema: field, isRequired: true }], isBare }
}

/** The values that a field can have; undefined if it is free. */
export function choicesOf({ enum: values, enumNames, oneOf, items, type }: FieldSchema): readonly Choice[] | undefined {
  if (type === 'array') return items && choicesOf(items)
  if (values) return values.map((value, i) => ({ value, label: enumNames?.[i] ?? String(value) }))
  if (!oneOf?.every((one) => Object.hasOwn(one, 'const'))) return undefined
  return oneOf.map(({ const: value, title }) => ({ value, label: title ?? String(value) }))
}

/** Whether the value of a field is written as JSON. */
export function isJson(schema: FieldSchema): boolean {
  if (choicesOf(schema)) return false
  return schema.type === 'object' || schema.type === 'array'
}

/** The type of the input of a field. */
export function inputType({ type, format }: FieldSchema): string {
  if (type === 'boolean') return 'checkbox'
  if (type === 'number' || type === 'integer') return 'number'
  return FORMATS[format ?? ''] ?? 'text'
}

const FORMATS: Readonly<Record<string, string>> = { date: 'date', email: 'email', time: 'time', uri: 'url' }

/** The answer in a form. Contract: an optional field that is empty is left out. */
export function answerIn({ fields, isBare }: FormSchema, data: FormData): unknown {
  const answers = fields.flatMap(({ name, schema, isRequired }) => {
    const value = valueIn(schema, data.getAll(name).map(String))
    return value === undefined && !isRequired ? [] : [[name, value] as const]
  })
  return isBare ? answers[0]?.[1] : Object.fromEntries(answers)
}

function valueIn(schema: FieldSchema, given: readonly string[]): unknown {
  const [text = ''] = given
  const choices = choicesOf(schema)
  if (schema.type === 'boolean') return given.length > 0
  if (choices) {
    const chosen = given.flatMap((index) => choices[Number(index)]?.value)
    return schema.type === 'array' ? chosen : chosen[0]
  }
  if (text === '') return undefined
  if (isJson(schema)) return JSON.parse(text)
  return inputType(schema) === 'number' ? Number(text) : text
}
