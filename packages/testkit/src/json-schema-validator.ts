import { format, Validator } from '@cfworker/json-schema'
import { isUrl, type JsonSchemaValidator, jsonSchemaValidatorWith } from '@troupe/kernel/kit'

// The library's own pattern takes exponential time, and arguments come from outside.
format.url = isUrl

/**
 * Validates against plain JSON Schema, as the packages that run tools do.
 * @example await parseArguments(tool, '{"city":"Beijing"}', jsonSchemaValidator)
 */
export const jsonSchemaValidator: JsonSchemaValidator = jsonSchemaValidatorWith(
  (schema) => new Validator(schema, '2020-12', false),
)
