import { Validator } from '@cfworker/json-schema'
import { type JsonSchemaValidator, jsonSchemaValidatorWith } from '@troupe/kernel/kit'

/**
 * Validates against plain JSON Schema, as the packages that run tools do.
 * @example await parseArguments(tool, '{"city":"Beijing"}', jsonSchemaValidator)
 */
export const jsonSchemaValidator: JsonSchemaValidator = jsonSchemaValidatorWith(
  (schema) => new Validator(schema, '2020-12', false),
)
