import { type JsonSchema, KernelError, type Schema, toJsonSchema, validate } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ask, messageOf, request, WEATHER } from '../ask.fixture.ts'
import { aiSdkModel } from '../index.ts'
import { obeying } from './obedient-model.fixture.ts'
import { type Asked, STRICT_VENDORS, type StrictVendor, serveStrictly } from './strict-vendors.fixture.ts'
import { validateWithLibrary } from './validator.fixture.ts'

const address = z.object({ street: z.string(), zip: z.string().optional() })
const shared = address.meta({ id: 'Address' })
const node = z.object({
  name: z.string(),
  get children() {
    return z.array(node).optional()
  },
})
const shape = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('circle'), radius: z.number(), label: z.string().optional() }),
  z.object({ kind: z.literal('square'), side: z.number(), note: z.string().optional() }),
])
const list: JsonSchema = {
  type: 'object',
  properties: { head: { type: 'string' }, tail: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
  required: ['head', 'tail'],
}
const both: JsonSchema = {
  allOf: [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, { $ref: '#/$defs/more' }],
  $defs: { more: { type: 'object', properties: { b: { type: 'number' } } } },
}

/** Schemas as users write them, and values that fit. */
const cases: Readonly<Record<string, readonly [Schema, ...unknown[]]>> = {
  'a flat object': [
    z.object({ city: z.string(), degrees: z.number(), sunny: z.boolean() }),
    { city: 'Rome', degrees: 21.5, sunny: true },
  ],
  'optional properties': [
    z.object({ a: z.string().optional(), b: z.number().optional() }),
    {},
    { a: 'x' },
    { b: 1 },
    { a: '', b: 0 },
  ],
  'nested objects': [
    z.object({ home: address, work: address.optional() }),
    { home: { street: 'A' } },
    { home: { street: 'A', zip: '1' }, work: { street: 'B' } },
  ],
  'a list of objects': [
    z.object({ all: z.array(address) }),
    { all: [] },
    { all: [{ street: 'A' }, { street: 'B', zip: '2' }] },
  ],
  'a union of types': [z.object({ id: z.union([z.string(), z.number()]) }), { id: 'x' }, { id: 7 }],
  'a union of objects': [
    z.object({ x: z.union([address, z.object({ city: z.string() })]) }),
    { x: { street: 'A' } },
    { x: { city: 'Rome' } },
  ],
  'a discriminated union': [
    z.object({ shape }),
    { shape: { kind: 'circle', radius: 1 } },
    { shape: { kind: 'square', side: 2, note: 'n' } },
  ],
  'a discriminated union, optional': [
    z.object({ shape: shape.optional() }),
    {},
    { shape: { kind: 'circle', radius: 1, label: 'l' } },
  ],
  'an enum': [
    z.object({ mood: z.enum(['good', 'bad']), other: z.enum(['x']).optional() }),
    { mood: 'good' },
    { mood: 'bad', other: 'x' },
  ],
  'literals of several types': [z.object({ v: z.literal(['x', 3, true, null]) }), { v: 'x' }, { v: 3 }, { v: null }],
  'a nullable property': [
    z.object({ a: z.string().nullable(), b: z.enum(['x']).nullable() }),
    { a: null, b: null },
    { a: 'x', b: 'x' },
  ],
  'a property that is optional and nullable': [z.object({ a: z.string().nullish() }), { a: null }, { a: 'x' }],
  'strings with rules': [
    z.object({
      mail: z.email(),
      link: z.url(),
      id: z.uuid(),
      at: z.iso.datetime(),
      day: z.iso.date(),
      short: z.string().min(1).max(9),
      code: z.string().regex(/^(?=a)\w+$/),
    }),
    {
      mail: 'a@b.example',
      link: 'https://b.example/',
      id: '3f8e1b9a-6c1d-4a7e-9b3f-1d2c3b4a5f6e',
      at: '2026-01-01T00:00:00Z',
      day: '2026-01-01',
      short: 'x',
      code: 'ab',
    },
  ],
  'numbers and lists with rules': [
    z.object({ n: z.int().min(1).max(9), m: z.number().gt(0).multipleOf(0.5), l: z.array(z.string()).min(2).max(3) }),
    { n: 1, m: 1.5, l: ['a', 'b'] },
  ],
  'a tuple': [z.object({ pair: z.tuple([z.string(), z.number()]) }), { pair: ['a', 1] }],
  'a tuple with more': [
    z.object({ line: z.tuple([z.string(), z.number().optional()]), all: z.tuple([z.string()], z.number()) }),
    { line: ['a'], all: ['b'] },
    { line: ['a', 1], all: ['b', 1, 2] },
  ],
  'a tuple of objects': [
    z.object({ pair: z.tuple([address, z.object({ n: z.number().optional() })]) }),
    { pair: [{ street: 'A' }, {}] },
  ],
  'a record': [z.object({ counts: z.record(z.string(), z.number()) }), { counts: {} }, { counts: { a: 1, b: 2 } }],
  'a record of known names': [
    z.object({ counts: z.partialRecord(z.enum(['a', 'b']), z.number()) }),
    { counts: {} },
    { counts: { b: 2 } },
  ],
  'a value of any kind': [z.object({ any: z.any() }), { any: { deep: [1, null] } }],
  'a schema that contains itself': [node, { name: 'a' }, { name: 'a', children: [{ name: 'b', children: [] }] }],
  'a definition that contains itself': [
    z.object({ tree: node, other: node.optional() }),
    { tree: { name: 'a', children: [{ name: 'b' }] } },
  ],
  'a linked list': [list, { head: 'a', tail: { head: 'b', tail: null } }],
  'a shared definition with a description': [
    z.object({ a: shared, b: shared.describe('The second.').optional() }),
    { a: { street: 'A' } },
    { a: { street: 'A' }, b: { street: 'B', zip: '1' } },
  ],
  'parts that all apply': [both, { a: 'x' }, { a: 'x', b: 1 }],
  'several types in one keyword': [
    { type: 'object', properties: { v: { type: ['string', 'number', 'null'], minLength: 1 } } },
    { v: 'x' },
    { v: 1 },
  ],
  'conditions that only the user can check': [
    {
      type: 'object',
      properties: {
        a: { type: 'string', not: { const: 'x' } },
        b: { type: 'array', items: { type: 'string' }, uniqueItems: true },
      },
      dependentRequired: { b: ['a'] },
    },
    { a: 'y', b: ['1'] },
  ],
  'names with commas, quotes and colons': [
    z.object({ 'a,b': z.string().optional(), 'c":': z.string().optional(), d: z.number() }),
    { d: 1 },
    { 'a,b': '},{"', 'c":': 'null', d: 1 },
  ],
  'a list at the root': [z.array(address), [], [{ street: 'A' }, { street: 'B', zip: '1' }]],
  'a union at the root': [shape, { kind: 'circle', radius: 1 }, { kind: 'square', side: 2 }],
  'a text at the root': [z.string(), 'Rome', '"quoted" {"value": 1}'],
  'a number at the root': [z.number(), 12, -0.5],
  'a recursive list at the root': [z.array(node), [{ name: 'a', children: [{ name: 'b' }] }]],
  'a union of a record at the root': [z.union([z.record(z.string(), z.number()), z.string()]), { a: 1 }, 'x'],
  'an enum of all sizes': [
    z.object({ e: z.enum(Array.from({ length: 1200 }, (_, i) => `v${i}`) as [string]) }),
    { e: 'v7' },
  ],
  'a very deep object': [deep(12), deepValue(12)],
  'many optional properties': [
    z.object(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`p${i}`, z.string().optional()]))),
    {},
    { p3: 'x' },
  ],
  'many unions': [
    z.object(Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, z.string().nullable()]))),
    Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, null])),
  ],
}

/** Schemas that a vendor cannot hold a model to. */
const LOOSE: Readonly<Record<string, readonly string[]>> = {
  OpenAI: [
    'a record',
    'a value of any kind',
    'a union of a record at the root',
    'an enum of all sizes',
    'a very deep object',
  ],
  Anthropic: [
    'a record',
    'a value of any kind',
    'a union of a record at the root',
    'many optional properties',
    'a very deep object',
    'many unions',
    'a schema that contains itself',
    'a definition that contains itself',
    'a linked list',
    'a recursive list at the root',
  ],
  Gemini: [],
}

describe.each(Object.entries(STRICT_VENDORS))('structured output of %s', (name, vendor) => {
  it.each(Object.keys(cases))('%s comes back in the shape of its schema', async (title) => {
    const [schema, ...values] = cases[title] ?? expect.fail()
    for (const value of values) {
      const { text, asked } = await answered(vendor, schema, value)
      expect(JSON.parse(text)).toEqual(value)
      await expect(Promise.resolve(validate(schema, JSON.parse(text), validateWithLibrary))).resolves.toBeDefined()
      expect(asked.strict).toBe(!LOOSE[name.split(' ')[0] ?? '']?.includes(title))
    }
  })

  it('an answer that is not JSON comes as it is', async () => {
    const said = 'Sorry, I {cannot} do "that".'
    expect((await answered(vendor, z.array(address), 0, [said])).text).toBe(said)
    expect((await answered(vendor, z.object({ a: z.string().optional() }), 0, [said])).text).toBe(said)
  })

  it('an answer that is cut short comes as far as it goes', async () => {
    const { text } = await answered(vendor, z.object({ a: z.string(), b: z.string().optional() }), 0, [
      '{"a":"x","b":nu',
    ])
    expect(text).toBe('{"a":"x","b":nu')
  })

  it('tools beside it are not held to a subset that their schemas do not fit', async () => {
    const open = { ...WEATHER, parameters: { type: 'object', properties: { when: { type: 'string', minLength: 1 } } } }
    const { text } = await answered(vendor, z.object({ a: z.string().optional() }), {}, undefined, [WEATHER, open])
    expect(JSON.parse(text)).toEqual({})
  })
})

it('a vendor that refuses a schema is MODEL_REQUEST_INVALID with what it said', async () => {
  const vendor = STRICT_VENDORS['OpenAI Chat'] ?? expect.fail()
  await using server = await serveStrictly(vendor, () => [])
  const model = aiSdkModel(vendor.make(server.url), { schemaDialect: 'google' })
  const schema = toJsonSchema(z.object({ a: z.string().optional() }))
  const error = await ask(model, request(undefined, { options: { responseSchema: schema } })).catch((e: unknown) => e)
  expect(KernelError.is(error, 'MODEL_REQUEST_INVALID') && error.message).toContain("Missing 'a'")
})

it('a subset that does not exist is refused', () => {
  const model = STRICT_VENDORS.Gemini?.make('http://127.0.0.1') ?? expect.fail()
  expect(() => aiSdkModel(model, { schemaDialect: 'gogle' as 'google' })).toThrow(
    'aiSdkModel: schemaDialect is one of openai, anthropic, google, got gogle',
  )
})

it('what the user says about strictness wins', async () => {
  const vendor = STRICT_VENDORS['OpenAI Chat'] ?? expect.fail()
  await using server = await serveStrictly(vendor, () => ['{}'])
  const model = aiSdkModel(vendor.make(server.url), {
    defaults: { providerOptions: { openai: { strictJsonSchema: false } } },
  })
  await ask(model, request(undefined, { options: { responseSchema: toJsonSchema(z.object({})) } }))
  expect(vendor.asked(server.bodies[0]).strict).toBe(false)
})

it('the text streams: what is certain is shown before the answer ends', async () => {
  const vendor = STRICT_VENDORS['OpenAI Chat'] ?? expect.fail()
  const pieces = ['{"value":[{"street":"A","zip":', 'null},', '{"street":"B', '","zip":"1"}', ']}']
  await using server = await serveStrictly(vendor, () => pieces)
  const asked = request(undefined, { options: { responseSchema: toJsonSchema(z.array(address)) } })
  const parts = await ask(aiSdkModel(vendor.make(server.url)), asked)
  const deltas = parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []))
  expect(deltas).toEqual(['[{"street":"A"', '},', '{"street":"B', '","zip":"1"}', ']'])
})

async function answered(
  vendor: StrictVendor,
  schema: Schema,
  value: unknown,
  pieces?: readonly string[],
  tools: readonly (typeof WEATHER)[] = [],
): Promise<{ readonly text: string; readonly asked: Asked }> {
  const responseSchema = toJsonSchema(schema)
  const say = (asked: Asked) => {
    const wrapped = Object.keys(Object(asked.schema.properties)).join() === 'value'
    const said =
      obeying(asked.schema, wrapped ? { value } : value) ?? expect.fail(`no way to say ${JSON.stringify(value)}`)
    expect(validateWithLibrary(asked.schema as JsonSchema, said.value)).toEqual([])
    return JSON.stringify(said.value).match(/.{1,7}/gs) ?? []
  }
  await using server = await serveStrictly(vendor, (asked) => pieces ?? say(asked))
  const model = aiSdkModel(vendor.make(server.url))
  const parts = await ask(model, request(undefined, { options: { responseSchema }, tools }))
  const { content } = messageOf(parts)
  const texts = (Array.isArray(content) ? content : []).map((part) => (part.type === 'text' ? part.text : ''))
  return { text: texts.join(''), asked: vendor.asked(server.bodies[0]) }
}

function deep(levels: number): z.ZodType {
  return levels === 0 ? z.string() : z.object({ in: deep(levels - 1), maybe: z.string().optional() })
}

function deepValue(levels: number): unknown {
  return levels === 0 ? 'x' : { in: deepValue(levels - 1) }
}
