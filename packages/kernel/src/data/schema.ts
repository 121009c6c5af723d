import { type Awaitable, isPromise, type JsonObject, notJson } from './json.ts'
import { got, isObject, KernelError } from './kernel-error.ts'

/** A plain JSON Schema (draft 2020-12). */
export type JsonSchema = JsonObject

/** A Standard Schema that also gives JSON Schema (zod 4, arktype; valibot through its converter); declared structurally, so the kernel imports nothing. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly validate: (value: unknown) => Awaitable<StandardResult<Output>>
    readonly jsonSchema: { readonly input: (options: { readonly target: string }) => Record<string, unknown> }
  }
}

/** The result of validating a value with a Standard Schema. */
type StandardResult<Output = unknown> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** One thing wrong with a value. */
export interface SchemaIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** A description of a value: tool parameters, structured output, sub-agent input. */
export type Schema = JsonSchema | StandardSchema
/** The type a schema describes: exact for a Standard Schema, read off a JSON Schema literal, `unknown` for a schema known only at run time. */
export type Infer<S> = S extends StandardSchema<infer Output> ? Output : FromJsonSchema<S>
/** The common part of JSON Schema at type level; everything else is `unknown`. */
export type FromJsonSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly type: infer T extends keyof Primitives }
      ? Primitives[T]
      : S extends { readonly type: 'array' }
        ? S extends { readonly items: infer I }
          ? FromJsonSchema<I>[]
          : unknown[]
        : S extends { readonly type: 'object'; readonly properties: infer P }
          ? // An inline mapped type, so that a hover shows the object and not how it was made.
            FromProperties<P, S extends { readonly required: readonly (infer R)[] } ? R : never> extends infer T
            ? { [K in keyof T]: T[K] }
            : never
          : unknown
type FromProperties<P, Required> = {
  -readonly [K in keyof P as K extends Required ? K : never]: FromJsonSchema<P[K]>
} & { -readonly [K in keyof P as K extends Required ? never : K]?: FromJsonSchema<P[K]> }
type Primitives = { string: string; number: number; integer: number; boolean: boolean; null: null }
/** Port: validates against a plain JSON Schema; filled by the packages that run tools, because it needs a library. */
export type JsonSchemaValidator = (schema: JsonSchema, value: unknown) => readonly SchemaIssue[]

/**
 * The JSON Schema that is sent to a model, without `$schema`.
 * Contract: throws `SCHEMA_INVALID`; names the converter for a library that has no JSON side.
 * @example toJsonSchema(z.object({ city: z.string() }))
 */
export function toJsonSchema(schema: Schema): JsonSchema {
  if (!isStandard(schema)) return checked(schema, '')
  const { vendor, jsonSchema } = schema['~standard']
  if (typeof jsonSchema?.input !== 'function') {
    throw invalid(`schema of ${vendor}: has no JSON Schema side; ${CONVERTERS[vendor] ?? 'pass a plain JSON Schema'}`)
  }
  let converted: Record<string, unknown>
  try {
    converted = jsonSchema.input({ target: 'draft-2020-12' })
  } catch (cause) {
    throw invalid(`schema of ${vendor}: cannot be written as JSON Schema, ${KernelError.from(cause).message}`, cause)
  }
  const { $schema: _, ...rest } = checked(converted, '')
  return rest
}

/**
 * Checks a value and returns what the schema makes of it.
 * Contract: rejects with `VALIDATION_FAILED`, issues in `details`; returns no promise where nothing has to be awaited.
 * @example const { city } = await validate(z.object({ city: z.string() }), value, validator)
 */
export function validate<const S extends Schema>(
  schema: S,
  value: unknown,
  validator: JsonSchemaValidator,
): Awaitable<Infer<S>> {
  if (!isStandard(schema)) {
    const issues = validator(schema, value)
    return issues.length > 0 ? Promise.reject(failed(issues)) : (value as Infer<S>)
  }
  const result = schema['~standard'].validate(value)
  return isPromise(result) ? result.then((settled) => accepted<S>(settled)) : accepted<S>(result)
}

function accepted<S extends Schema>(result: StandardResult): Awaitable<Infer<S>> {
  return result.issues ? Promise.reject(failed(result.issues)) : (result.value as Infer<S>)
}

const CONVERTERS: Record<string, string> = {
  valibot: 'wrap it in toStandardJsonSchema() of @valibot/to-json-schema',
  zod: 'use zod 4.2 or newer',
}
const TYPES: readonly unknown[] = ['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']

function isStandard(schema: Schema): schema is StandardSchema {
  return (isObject(schema) || typeof schema === 'function') && '~standard' in schema
}

function checked(schema: unknown, path: string): JsonSchema {
  const at = (message: string) => invalid(`schema${path}: ${message}`)
  if (!isObject(schema) || Array.isArray(schema)) throw at(`expected a JSON Schema object, ${got(schema)}`)
  const { type, properties, required, items } = schema
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  const wrongType = types.find((one) => one !== undefined && !TYPES.includes(one))
  if (wrongType !== undefined) throw at(`type is one of ${TYPES.join(', ')}, ${got(wrongType)}`)
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string'))) {
    throw at(`required is a list of property names, ${got(required)}`)
  }
  if (properties !== undefined && !isObject(properties)) throw at(`properties is an object, ${got(properties)}`)
  for (const name in properties) checkInner(properties[name], `${path}.${name}`)
  if (items !== undefined) checkInner(items, `${path}[]`)
  const broken = path === '' ? notJson(schema) : undefined
  if (broken !== undefined) throw at(`is not plain JSON at ${broken || 'its root'}`)
  return schema as JsonSchema
}

/** `true` and `false` are schemas too. */
function checkInner(schema: unknown, path: string): void {
  if (typeof schema !== 'boolean') checked(schema, path)
}

function invalid(message: string, cause?: unknown): KernelError {
  return new KernelError('SCHEMA_INVALID', message, cause === undefined ? {} : { cause })
}

function failed(issues: readonly SchemaIssue[]): KernelError {
  const list = issues.map(({ message, path = [] }) => ({
    path: path.map((key) => String(isObject(key) ? key.key : key)).join('.'),
    message,
  }))
  const text = list.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
  return new KernelError('VALIDATION_FAILED', text, { details: { issues: list } })
}
