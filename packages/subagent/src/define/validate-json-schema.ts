import { Validator } from '@cfworker/json-schema'
import { type JsonSchemaValidator, jsonSchemaValidatorWith } from '@troupe/kernel/kit'

/** Validates against plain JSON Schema; a schema is compiled once. */
export const validateJsonSchema: JsonSchemaValidator = jsonSchemaValidatorWith(
  (schema) => new Validator(schema, '2020-12', false),
)
