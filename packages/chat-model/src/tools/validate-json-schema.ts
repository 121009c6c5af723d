import { format, Validator } from '@cfworker/json-schema'
import type { JsonSchema } from '@troupe/kernel'
import { isUrl, type JsonSchemaValidator, jsonSchemaValidatorWith } from '@troupe/kernel/kit'
import { quickCheck } from './quick-check.ts'

// The library's own pattern takes exponential time, and arguments come from outside.
format.url = isUrl

const QUICK_CHECKS = new WeakMap<JsonSchema, (value: unknown) => boolean>()
const validateInFull = jsonSchemaValidatorWith((schema) => new Validator(schema, '2020-12', false))

/** Validates against plain JSON Schema; the quick check of valid values saves 0.6 of 3.4 µs of a tool step. */
export const validateJsonSchema: JsonSchemaValidator = (schema, value) => {
  let passes = QUICK_CHECKS.get(schema)
  if (!passes) {
    passes = quickCheck(schema) ?? (() => false)
    QUICK_CHECKS.set(schema, passes)
  }
  return passes(value) ? NONE : validateInFull(schema, value)
}

const NONE: ReturnType<JsonSchemaValidator> = []
