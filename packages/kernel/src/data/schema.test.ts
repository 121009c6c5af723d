import { Validator } from '@cfworker/json-schema'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type JsonSchema, type JsonSchemaValidator, type Schema, toJsonSchema, validate } from './schema.ts'

const validator: JsonSchemaValidator = (schema, value) =>
  new Validator(schema, '2020-12', false)
    .validate(value)
    .errors.map(({ error, instanceLocation }) => ({ message: error, path: instanceLocation.split('/').slice(1) }))

const plain = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const

const schemas: Record<string, Schema> = {
  'plain JSON Schema': plain,
  'zod 4': z.object({ city: z.string() }),
  arktype: type({ city: 'string' }),
  'valibot through its converter': toStandardJsonSchema(v.object({ city: v.string() })),
}

describe.each(Object.entries(schemas))('%s', (_, schema) => {
  it('becomes the JSON Schema that a model sees, without $schema', () => {
    const converted = toJsonSchema(schema)
    expect(converted).toMatchObject(plain)
    expect(converted).not.toHaveProperty('$schema')
    expect(JSON.parse(JSON.stringify(converted))).toEqual(converted)
  })

  it('gives the value it accepts', async () => {
    expect(await validate(schema, { city: 'Beijing' }, validator)).toEqual({ city: 'Beijing' })
  })

  it('refuses a wrong value with VALIDATION_FAILED and says where it is wrong', async () => {
    await expect(validate(schema, { city: 1 }, validator)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { issues: expect.arrayContaining([expect.objectContaining({ path: 'city' })]) },
    })
  })
})

it('gives what a schema makes of a value', async () => {
  const schema = z.object({ days: z.number().default(3) })
  expect(await validate(schema, {}, validator)).toEqual({ days: 3 })
})

it('names the converter for a library that has no JSON side', () => {
  const bare = v.object({ city: v.string() }) as unknown as Schema
  expect(() => toJsonSchema(bare)).toThrow(/schema of valibot: .*toStandardJsonSchema\(\) of @valibot\/to-json-schema/)
})

it('says so when a library cannot write its schema as JSON Schema', () => {
  expect(() => toJsonSchema(z.object({ at: z.date() }))).toThrow(/schema of zod: cannot be written as JSON Schema/)
})

it.each<[string, unknown, RegExp]>([
  ['nothing', undefined, /expected a JSON Schema object, got undefined/],
  ['text', 'string', /got "string"/],
  ['a list', [], /got an array/],
  ['a wrong type', { type: 'strin' }, /type is one of .*, got "strin"/],
  ['a wrong type inside', { type: 'object', properties: { a: { type: 'int' } } }, /schema\.a: type is one of/],
  ['a wrong type of items', { type: 'array', items: { type: 'text' } }, /schema\[\]: type is one of/],
  ['properties that are none', { type: 'object', properties: 'a, b' }, /properties is an object, got "a, b"/],
  ['required that is not a list', { type: 'object', required: true }, /required is a list of property names, got true/],
  ['a value that is not JSON', { type: 'object', default: new Date() }, /is not plain JSON at \.default/],
])('refuses %s with SCHEMA_INVALID', (_, schema, message) => {
  expect(() => toJsonSchema(schema as JsonSchema)).toThrow(expect.objectContaining({ code: 'SCHEMA_INVALID' }))
  expect(() => toJsonSchema(schema as JsonSchema)).toThrow(message)
})
