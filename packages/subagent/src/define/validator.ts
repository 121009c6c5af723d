import { Validator } from '@cfworker/json-schema'
import type { JsonSchema } from '@troupe/kernel'
import type { JsonSchemaValidator } from '@troupe/kernel/kit'

const COMPILED = new WeakMap<JsonSchema, Validator>()

/** Validates against plain JSON Schema; a schema is compiled once. */
export const validateJsonSchema: JsonSchemaValidator = (schema, value) => {
  let validator = COMPILED.get(schema)
  if (!validator) {
    validator = new Validator(schema, '2020-12', false)
    COMPILED.set(schema, validator)
  }
  return validator
    .validate(value)
    .errors.map(({ error, instanceLocation }) => ({ message: error, path: instanceLocation.split('/').slice(1) }))
}
