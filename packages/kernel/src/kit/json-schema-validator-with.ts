import type { JsonSchema, JsonSchemaValidator } from '../data/schema.ts'

/** The part of a JSON Schema library that is used; `Validator` of `@cfworker/json-schema` has it. */
interface CompiledSchema {
  validate(value: unknown): {
    readonly errors: readonly { readonly error: string; readonly instanceLocation: string }[]
  }
}

/**
 * Makes a validator for plain JSON Schema with the library of your choice, because the kernel has none.
 * Contract: each schema is compiled once. If the library checks `format: 'url'` with a pattern, give it `isUrl`.
 * @example const validateJsonSchema = jsonSchemaValidatorWith((schema) => new Validator(schema, '2020-12', false))
 */
export function jsonSchemaValidatorWith(compile: (schema: JsonSchema) => CompiledSchema): JsonSchemaValidator {
  const compiled = new WeakMap<JsonSchema, CompiledSchema>()
  return (schema, value) => {
    let validator = compiled.get(schema)
    if (!validator) {
      validator = compile(schema)
      compiled.set(schema, validator)
    }
    return validator
      .validate(value)
      .errors.map(({ error, instanceLocation }) => ({ message: error, path: instanceLocation.split('/').slice(1) }))
  }
}
