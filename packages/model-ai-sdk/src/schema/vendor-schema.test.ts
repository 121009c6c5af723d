import { toJsonSchema } from '@troupe/kernel/kit'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { responseFormat } from './response-format.ts'

const person = toJsonSchema(
  z.object({
    name: z.string().min(2).describe('Given and family name.'),
    born: z.iso.date().optional(),
    size: z.number().gt(0).optional(),
    level: z.int().min(1).max(9).default(3),
    site: z.url().nullable(),
  }),
)

describe('a schema as a vendor gets it', () => {
  it('OpenAI: closed, everything required, rules that it does not take in the description', () => {
    expect(responseFormat(person, 'openai').schema).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', description: 'Given and family name.\nminLength: 2' },
        born: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }] },
        size: { anyOf: [{ type: 'number', exclusiveMinimum: 0 }, { type: 'null' }] },
        level: { anyOf: [{ type: 'integer', description: 'default: 3', minimum: 1, maximum: 9 }, { type: 'null' }] },
        site: { anyOf: [{ type: 'string', description: 'format: uri' }, { type: 'null' }] },
      },
      required: ['name', 'born', 'size', 'level', 'site'],
      additionalProperties: false,
    })
  })

  it('Anthropic: closed, optional properties not required, no rules', () => {
    expect(responseFormat(person, 'anthropic').schema).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', description: 'Given and family name.\nminLength: 2' },
        born: { type: 'string', format: 'date' },
        size: { type: 'number', description: 'exclusiveMinimum: 0' },
        level: { type: 'integer', description: 'minimum: 1; maximum: 9; default: 3' },
        site: { anyOf: [{ type: 'string', format: 'uri' }, { type: 'null' }] },
      },
      required: ['name', 'site'],
      additionalProperties: false,
    })
  })

  it('Google: with the bounds that it knows', () => {
    const { properties } = responseFormat(person, 'google').schema
    expect(properties).toMatchObject({
      size: { type: 'number', description: 'exclusiveMinimum: 0' },
      level: { type: 'integer', description: 'default: 3', minimum: 1, maximum: 9 },
    })
  })

  it('is made once for each vendor', () => {
    expect(responseFormat(person, 'openai')).toBe(responseFormat(person, 'openai'))
    expect(responseFormat(person, 'google')).not.toBe(responseFormat(person, 'openai'))
  })

  it('does not change the schema of the user', () => {
    const before = JSON.stringify(person)
    for (const dialect of ['openai', 'anthropic', 'google'] as const) responseFormat({ ...person }, dialect)
    expect(JSON.stringify(person)).toBe(before)
  })
})
