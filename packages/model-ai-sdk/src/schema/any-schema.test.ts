import type { JsonSchema } from '@troupe/kernel'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { constrainedValue } from './constrained-value.fixture.ts'
import type { Dialect } from './dialect.ts'
import { type ResponseFormat, responseFormat } from './response-format.ts'
import { restore } from './restore-plan.ts'
import { RestoredText } from './restored-text.ts'
import { brokenForAnthropic, brokenForGoogle, brokenForOpenAI } from './subsets.fixture.ts'
import { validateWithLibrary } from './validator.fixture.ts'

const NAMES = ['a', 'b', 'value', 'a,b', 'say "hi"', 'null', '\\', '__proto__']
const DEFINITIONS = {
  tree: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      note: { type: 'string' },
      next: { $ref: '#/$defs/tree' },
      all: { type: 'array', items: { $ref: '#/$defs/tree' } },
    },
    required: ['name'],
  },
  tag: { type: 'object', properties: { label: { type: 'string' }, weight: { type: 'number' } }, required: ['label'] },
} satisfies JsonSchema

const scalar = fc.constantFrom<JsonSchema>(
  { type: 'string' },
  { type: 'string', description: 'A text.', default: 'x' },
  { type: 'integer' },
  { type: 'number' },
  { type: 'boolean' },
  { type: 'null' },
  { type: ['string', 'null'] },
  { type: ['integer', 'boolean'] },
  { enum: ['x', 'y'] },
  { type: 'string', enum: ['null', '"'] },
  { enum: ['x', 1, null] },
  { const: 'only' },
  { const: true },
)

const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => {
  const object = fc
    .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), tie('schema'), fc.boolean()), {
      selector: ([name]) => name,
      maxLength: 4,
    })
    .map(
      (members): JsonSchema => ({
        type: 'object',
        properties: Object.fromEntries(members.map(([name, one]) => [name, one])),
        required: members.filter(([, , required]) => required).map(([name]) => name),
      }),
    )
  return {
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      scalar,
      { arbitrary: object, weight: 4 },
      tie('schema').map((items): JsonSchema => ({ type: 'array', items })),
      fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf): JsonSchema => ({ anyOf })),
      fc.array(object, { minLength: 2, maxLength: 3 }).map((oneOf): JsonSchema => ({ anyOf: oneOf })),
      fc
        .array(tie('schema'), { minLength: 1, maxLength: 2 })
        .map((prefixItems): JsonSchema => ({ type: 'array', prefixItems, minItems: prefixItems.length })),
      fc.constantFrom<JsonSchema>(
        { $ref: '#/$defs/tree' },
        { $ref: '#/$defs/tag' },
        { $ref: '#/$defs/tag', description: 'A tag.' },
      ),
      tie('schema').map((additionalProperties): JsonSchema => ({ type: 'object', additionalProperties })),
    ),
  }
})

const sample = schema.chain((one) => {
  const root: JsonSchema = { ...one, $defs: DEFINITIONS }
  return fc.tuple(
    fc.constant(root),
    valueFor(one, 0),
    fc.constantFrom(undefined, 2),
    fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
  )
})

const CHECKS: readonly (readonly [Dialect['name'], (format: ResponseFormat) => string | undefined])[] = [
  ['openai', ({ schema, loose }) => brokenForOpenAI(schema, !loose)],
  ['anthropic', ({ schema, loose }) => (loose ? undefined : brokenForAnthropic(schema))],
  ['google', ({ schema }) => brokenForGoogle(schema)],
]

it.each(CHECKS)('%s: any schema is sent as documented, and its values come back in its shape', (dialect, broken) => {
  fc.assert(
    fc.property(sample, ([root, value, indent, cuts]) => {
      const format = responseFormat(root, dialect)
      expect(broken(format)).toBeUndefined()
      expect(format.schema.type).toBe('object')
      const written =
        constrainedValue(format.schema, format.wrapped ? { value } : value) ??
        expect.fail('the schema cannot express it')
      const text = streamed(format, JSON.stringify(written.value, undefined, indent), cuts)
      const restored: unknown = JSON.parse(text)
      const inner = format.wrapped ? (written.value as { value: unknown }).value : written.value
      expect(restored).toEqual(restore(format.plan, inner))
      expect(validateWithLibrary(root, restored)).toEqual([])
      // Where two branches fit, the value may come back as one of the other; `null` stays where the schema has it.
      if (!JSON.stringify(root).includes('anyOf')) expect(withoutNulls(restored)).toEqual(withoutNulls(value))
    }),
    { numRuns: 300 },
  )
})

it.each<[string, JsonSchema]>([
  ['a reference', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }],
  ['a part', { allOf: [{ $ref: '#' }] }],
  ['a branch', { anyOf: [{ $ref: '#' }, { type: 'object', properties: { a: { type: 'string' } } }] }],
  ['another', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } } }],
])('a schema that is itself by %s is not followed forever', (_, schema) => {
  const format = responseFormat(schema, 'openai')
  expect(format).toMatchObject({ wrapped: true, loose: { strictJsonSchema: false } })
  expect(streamed(format, '{"value":{"a":null}}', [3])).toBe('{"a":null}')
})

it('any text passes through, in any pieces, and what is not JSON is not changed', () => {
  const format = responseFormat({ type: 'object', properties: { a: { type: 'string' } } }, 'openai')
  const wrapped = responseFormat({ type: 'array', items: { type: 'string' } }, 'openai')
  fc.assert(
    fc.property(fc.string(), fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1 }), (text, cuts) => {
      fc.pre(!text.includes('{'))
      expect(streamed(format, text, cuts)).toBe(text)
      expect(streamed(wrapped, text, cuts)).toBe(text)
    }),
  )
})

function streamed(format: ResponseFormat, text: string, cuts: readonly number[]): string {
  const restored = new RestoredText(format)
  let out = ''
  for (let at = 0, i = 0; at < text.length; i++) {
    const size = cuts[i % cuts.length] ?? 1
    out += restored.write(text.slice(at, at + size))
    at += size
  }
  return out + restored.end()
}

/** A property that may be missing and may be `null` is always there at OpenAI. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member)]))
}

/** Values that fit a schema. */
function valueFor(node: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const { type, enum: list, const: only, anyOf, $ref } = node
  if (typeof $ref === 'string') return valueFor(DEFINITIONS[$ref.endsWith('tree') ? 'tree' : 'tag'], depth + 1)
  if (only !== undefined) return fc.constant(only)
  if (Array.isArray(list)) return fc.constantFrom(...list)
  if (Array.isArray(anyOf)) return fc.oneof(...anyOf.map((one) => valueFor(one as JsonSchema, depth)))
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => valueFor({ ...node, type: one }, depth)))
  if (type === 'object') return objectFor(node, depth)
  return type === 'array' ? listFor(node, depth) : scalarFor(type)
}

function objectFor({ properties, required, additionalProperties }: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  if (additionalProperties) {
    return fc.dictionary(fc.constantFrom('x', 'y', 'z'), valueFor(additionalProperties as JsonSchema, depth + 1), {
      maxKeys: depth > 4 ? 0 : 2,
      noNullPrototype: true,
    })
  }
  const members = Object.entries(Object(properties)).map(([name, one]) => {
    const needed = (required as string[] | undefined)?.includes(name)
    const member =
      needed || depth < 4 ? valueFor(one as JsonSchema, depth + 1).map((value) => [[name, value]]) : fc.constant([])
    return needed ? member : fc.oneof(fc.constant([]), member)
  })
  return fc.tuple(...members).map((lists) => Object.fromEntries(lists.flat() as [string, unknown][]))
}

function listFor({ items, prefixItems }: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  if (Array.isArray(prefixItems)) return fc.tuple(...prefixItems.map((one) => valueFor(one as JsonSchema, depth + 1)))
  return depth > 4 ? fc.constant([]) : fc.array(valueFor(items as JsonSchema, depth + 1), { maxLength: 3 })
}

function scalarFor(type: unknown): fc.Arbitrary<unknown> {
  if (type === 'string') return fc.oneof(fc.string(), fc.constantFrom('null', '}', '{"a":null,', '\\"', 'é😀'))
  if (type === 'integer') return fc.integer()
  if (type === 'number') return fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0)
  return type === 'boolean' ? fc.boolean() : fc.constant(null)
}
