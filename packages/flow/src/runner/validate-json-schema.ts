import { Validator } from '@cfworker/json-schema'
import { type JsonSchemaValidator, jsonSchemaValidatorWith } from '@troupe/kernel/kit'

/** Validates a value against plain JSON Schema. */
export const validateJsonSchema: JsonSchemaValidator = jsonSchemaValidatorWith(
  (schema) => new Validator(schema, '2020-12', false),
)
