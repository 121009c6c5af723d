import { Validator } from '@cfworker/json-schema'
import type { JsonSchema } from '@troupe/kernel'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { quickCheck } from './quick-check.ts'
import { validateJsonSchema } from './validate-json-schema.ts'

const isValid = (schema: JsonSchema, value: unknown) => new Validator(schema, '2020-12').validate(value).valid

const name = fc.constantFrom('a', 'b', 'constructor', '__proto__', 'toString')
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object')
const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.record(
    {
      type: fc.oneof(type, fc.array(type, { minLength: 1, maxLength: 2 })),
      description: fc.constant('Something.'),
      enum: fc.array(fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom('a', 1, null)), { minLength: 1 }),
      required: fc.uniqueArray(name),
      properties: fc.dictionary(name, fc.oneof({ maxDepth: 2 }, fc.boolean(), tie('schema')), { maxKeys: 2 }),
      additionalProperties: fc.oneof({ maxDepth: 2 }, fc.boolean(), tie('schema')),
      items: fc.oneof({ maxDepth: 2 }, fc.boolean(), tie('schema')),
      minimum: fc.integer(),
      maxLength: fc.nat(3),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<JsonSchema>,
}))
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('a', 'abcd', 1, 1.5, -0, true, null, [], {}),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3 }),
  ),
}))

describe('quickCheck', () => {
  it('never changes the result of a validation', () => {
    fc.assert(
      fc.property(schema, value, (schema, value) => {
        expect(validateJsonSchema(schema, value).length === 0).toBe(isValid(schema, value))
      }),
      { numRuns: 2_000 },
    )
  })

  const city = {
    type: 'object',
    description: 'Where.',
    properties: {
      city: { type: 'string' },
      days: { type: 'integer', default: 1 },
      unit: { type: 'string', enum: ['C', 'F'] },
      tags: { type: 'array', items: { type: 'string' } },
    },
    required: ['city'],
    additionalProperties: false,
  }

  test.each<[boolean, unknown]>([
    [true, { city: 'Bergen' }],
    [true, { city: 'Bergen', days: 3, unit: 'C', tags: ['rain'] }],
    [false, {}],
    [false, { city: 1 }],
    [false, { city: 'Bergen', days: 1.5 }],
    [false, { city: 'Bergen', unit: 'K' }],
    [false, { city: 'Bergen', tags: [1] }],
    [false, { city: 'Bergen', more: true }],
    [false, []],
    [false, null],
  ])('says %s of %j for the parameters of a tool', (passes, value) => {
    expect(quickCheck(city)?.(value)).toBe(passes)
  })

  test.each<{ schema: unknown }>([
    { schema: { type: ['string', 'null'] } },
    { schema: { type: 'number', minimum: 1 } },
    { schema: { $ref: '#/$defs/a', $defs: { a: {} } } },
    { schema: { enum: [{ a: 1 }] } },
    { schema: { properties: { a: { format: 'date' } } } },
    { schema: { constructor: 1 } },
    { schema: false },
  ])('leaves $schema to the validator', ({ schema }) => {
    expect(quickCheck(schema)).toBeUndefined()
  })
})

test('a URL is checked in linear time', () => {
  const schema = { type: 'string', format: 'url' } as const
  expect(validateJsonSchema(schema, 'https://example.com')).toEqual([])
  expect(validateJsonSchema(schema, `ftp://192.168.2.04${'8172.30.3.453'.repeat(1_000)}\0`)).toHaveLength(1)
})
