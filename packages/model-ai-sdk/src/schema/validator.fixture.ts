import { Validator } from '@cfworker/json-schema'
import type { JsonSchemaValidator } from '@troupe/kernel/kit'

/** Validates as the agents do. */
export const validateWithLibrary: JsonSchemaValidator = (schema, value) =>
  new Validator(schema, '2020-12', false).validate(value).errors.map(({ error }) => ({ message: error }))
