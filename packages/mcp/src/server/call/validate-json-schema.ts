import { format, Validator } from '@cfworker/json-schema'
import { isUrl, type JsonSchemaValidator, jsonSchemaValidatorWith } from '@troupe/kernel/kit'

// The library's own pattern takes exponential time, and arguments come from outside.
format.url = isUrl

/** Validates a value against plain JSON Schema. */
export const validateJsonSchema: JsonSchemaValidator = jsonSchemaValidatorWith(
  (schema) => new Validator(schema, '2020-12', false),
)
