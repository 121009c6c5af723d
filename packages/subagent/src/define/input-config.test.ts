import type { KernelError } from '@troupe/kernel'
import { parseArguments, toJsonSchema } from '@troupe/kernel/kit'
import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { tool } from '../subagent.fixture.ts'
import { type AgentInputs, convertInputConfigToJsonSchema, type InputConfig, type InputType } from './input-config.ts'
import { validateJsonSchema } from './validate-json-schema.ts'

const thrownBy = (work: () => unknown): KernelError => {
  try {
    work()
  } catch (error) {
    return error as KernelError
  }
  throw new Error('nothing was thrown')
}

describe('dynamic schema generation (动态 Schema 生成)', () => {
  test('the example conversion of the spec, to the letter', () => {
    expect(
      convertInputConfigToJsonSchema({
        inputs: {
          objective: { description: 'Investigation goal', type: 'string', required: true },
          max_files: { description: 'Maximum files to analyze', type: 'integer', required: false },
        },
      }),
    ).toStrictEqual({
      type: 'object',
      properties: {
        objective: { type: 'string', description: 'Investigation goal' },
        max_files: { type: 'integer', description: 'Maximum files to analyze' },
      },
      required: ['objective'],
    })
  })

  test.each<[InputType, object]>([
    ['string', { type: 'string' }],
    ['number', { type: 'number' }],
    ['integer', { type: 'integer' }],
    ['boolean', { type: 'boolean' }],
    ['string[]', { type: 'array', items: { type: 'string' } }],
    ['number[]', { type: 'array', items: { type: 'number' } }],
  ])('%s', (type, expected) => {
    const schema = convertInputConfigToJsonSchema({ inputs: { x: { type, description: 'd' } } })
    expect(schema).toStrictEqual({ type: 'object', properties: { x: { ...expected, description: 'd' } }, required: [] })
  })

  test('ruling 15: an unknown type is an error that names the type and the parameter', () => {
    const error = thrownBy(() =>
      convertInputConfigToJsonSchema({ inputs: { when: { type: 'date' as never, description: 'd' } } }),
    )
    expect([error.code, error.details.path]).toEqual(['CONFIG_INVALID', ['input', 'inputs', 'when', 'type']])
    expect(error.message).toMatch(/unknown type.*parameter when.*got "date"/)
  })

  test.each(['toString', '__proto__', 'constructor', 'String', ''])('the type %o is unknown too', (type) => {
    const config = { inputs: { x: { type: type as never, description: 'd' } } }
    expect(thrownBy(() => convertInputConfigToJsonSchema(config)).code).toBe('CONFIG_INVALID')
  })

  test('ruling 15: required is always present', () => {
    expect(convertInputConfigToJsonSchema({ inputs: {} })).toStrictEqual({
      type: 'object',
      properties: {},
      required: [],
    })
  })

  test.each<[string, unknown]>([
    ['no inputs', {}],
    ['a list', { inputs: [] }],
    ['  that is not an object', { inputs: { x: 'string' } }],
    ['a parameter without a description', { inputs: { x: { type: 'string' } } }],
    ['required that is not a boolean', { inputs: { x: { type: 'string', description: '', required: 'yes' } } }],
    ['an unknown key', { inputs: { x: { type: 'string', description: '', default: 1 } } }],
    ['a name with a space', { inputs: { 'a b': { type: 'string', description: '' } } }],
    ['an empty name', { inputs: { '': { type: 'string', description: '' } } }],
    ['a name that invoke_agent needs', { inputs: { agent_name: { type: 'string', description: '' } } }],
    ['__proto__', { inputs: JSON.parse('{ "__proto__": { "type": "string", "description": "" } }') }],
  ])('%s is CONFIG_INVALID', (_, config) => {
    expect(thrownBy(() => convertInputConfigToJsonSchema(config as InputConfig)).code).toBe('CONFIG_INVALID')
  })

  test('accepts just the arguments of its types (property)', async () => {
    const values: { readonly [type in InputType]: fc.Arbitrary<unknown> } = {
      string: fc.string(),
      number: fc.double({ noNaN: true, noDefaultInfinity: true }),
      integer: fc.integer(),
      boolean: fc.boolean(),
      'string[]': fc.array(fc.string()),
      'number[]': fc.array(fc.integer()),
    }
    const type = fc.constantFrom(...(Object.keys(values) as InputType[]))
    const parameter = type.chain((one) =>
      fc.record({
        type: fc.constant(one),
        required: fc.boolean(),
        value: values[one],
        given: fc.boolean(),
        other: type.chain((another) => values[another]),
      }),
    )
    const name = fc.stringMatching(/^[a-z_][a-z0-9_-]{0,8}$/).filter((text) => text !== 'agent_name')
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, parameter, { maxKeys: 5 }), async (parameters) => {
        const entries = Object.entries(parameters)
        const inputs = Object.fromEntries(
          entries.map(([key, { type, required }]) => [key, { type, required, description: key }]),
        )
        const schema = convertInputConfigToJsonSchema({ inputs })
        expect(toJsonSchema(schema)).toStrictEqual(schema)
        expect(schema.required).toEqual(entries.filter(([, { required }]) => required).map(([key]) => key))
        const args = Object.fromEntries(entries.flatMap(([key, { value, given }]) => (given ? [[key, value]] : [])))
        const complete = entries.every(([, { required, given }]) => given || !required)
        const parse = (value: unknown) =>
          parseArguments(tool('t', { parameters: schema }), JSON.stringify(value), validateJsonSchema)
        if (complete) await parse(args)
        else await expect(parse(args)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
        for (const [key, { type, other }] of entries) {
          const fits = validateJsonSchema((schema.properties as never)[key], other).length === 0
          expect(fits, `${JSON.stringify(other)} as ${type}`).toBe(isOf(type, other))
        }
      }),
      { seed: 15, numRuns: 200 },
    )
  })
})

const isOf = (type: InputType, value: unknown): boolean => {
  if (type === 'integer') return Number.isInteger(value)
  const item = type.replace('[]', '')
  return item === type ? typeof value === type : Array.isArray(value) && value.every((one) => typeof one === item)
}

test('type safety (类型安全): the arguments are typed after the form', () => {
  const form = {
    inputs: {
      objective: { type: 'string', description: '', required: true },
      files: { type: 'string[]', description: '' },
      depth: { type: 'integer', description: '', required: false },
    },
  } as const
  expectTypeOf<AgentInputs<typeof form>>().toEqualTypeOf<{
    readonly objective: string
    readonly files?: readonly string[]
    readonly depth?: number
  }>()
})
