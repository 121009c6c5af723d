import { Validator } from '@cfworker/json-schema'
import { expect, it } from 'vitest'
import { jsonSchemaValidatorWith } from '../kit.ts'

it('compiles each schema once and says where a value is wrong', () => {
  let compiled = 0
  const validate = jsonSchemaValidatorWith((schema) => {
    compiled++
    return new Validator(schema, '2020-12', false)
  })
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  expect(validate(schema, { city: 'Beijing' })).toEqual([])
  expect(validate(schema, { city: 7 })).toContainEqual({ message: expect.any(String), path: ['city'] })
  expect(compiled).toBe(1)
})
