import { Validator } from '@cfworker/json-schema'
import type { JsonSchema } from '@troupe/kernel'
import type { JsonSchemaValidator } from '@troupe/kernel/kit'
import { quickCheck } from './quick-check.ts'

interface Compiled {
  readonly passes: ReturnType<typeof quickCheck>
  validator?: Validator
}

const COMPILED = new WeakMap<JsonSchema, Compiled>()

/** Validates against plain JSON Schema; a schema is compiled once. */
export const validateJsonSchema: JsonSchemaValidator = (schema, value) => {
  let compiled = COMPILED.get(schema)
  if (!compiled) {
    compiled = { passes: quickCheck(schema) }
    COMPILED.set(schema, compiled)
  }
  if (compiled.passes?.(value)) return NONE
  compiled.validator ??= new Validator(schema, '2020-12', false)
  return compiled.validator
    .validate(value)
    .errors.map(({ error, instanceLocation }) => ({ message: error, path: instanceLocation.split('/').slice(1) }))
}

const NONE: ReturnType<JsonSchemaValidator> = []
