import type { JsonSchema, Schema } from '@troupe/kernel'
import { z } from 'zod'

export const address: z.ZodObject<{ street: z.ZodString; zip: z.ZodOptional<z.ZodString> }> = z.object({
  street: z.string(),
  zip: z.string().optional(),
})
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
export const CASES: Readonly<Record<string, readonly [Schema, ...unknown[]]>> = {
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
  'a union of records beside its type': [
    { type: 'object', anyOf: [{ additionalProperties: { type: 'number' } }, { required: ['a'] }] },
    { x: 1 },
  ],
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
export const LOOSE: Readonly<Record<string, readonly string[]>> = {
  OpenAI: [
    'a record',
    'a value of any kind',
    'a union of a record at the root',
    'a union of records beside its type',
    'an enum of all sizes',
    'a very deep object',
  ],
  Anthropic: [
    'a record',
    'a value of any kind',
    'a union of a record at the root',
    'a union of records beside its type',
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

function deep(levels: number): z.ZodType {
  return levels === 0 ? z.string() : z.object({ in: deep(levels - 1), maybe: z.string().optional() })
}

function deepValue(levels: number): unknown {
  return levels === 0 ? 'x' : { in: deepValue(levels - 1) }
}
