import { Validator } from '@cfworker/json-schema'
import type { JsonSchemaValidator } from '@troupe/kernel/kit'

/**
 * Validates against plain JSON Schema, as the packages that run tools do.
 * @example await parseArguments(tool, '{"city":"Beijing"}', jsonSchemaValidator)
 */
export const jsonSchemaValidator: JsonSchemaValidator = (schema, value) =>
  new Validator(schema, '2020-12', false)
    .validate(value)
    .errors.map(({ error, instanceLocation }) => ({ message: error, path: instanceLocation.split('/').slice(1) }))
