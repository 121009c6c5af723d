import { type JsonSchema, KernelError, type Schema } from '@troupe/kernel'
import { toJsonSchema, validate } from '@troupe/kernel/kit'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ask, messageOf, request, WEATHER } from '../ask.fixture.ts'
import { aiSdkModel } from '../index.ts'
import { constrainedValue } from './constrained-value.fixture.ts'
import { address, CASES, LOOSE } from './schemas.fixture.ts'
import { type Asked, STRICT_VENDORS, type StrictVendor, serveStrictly } from './strict-vendors.fixture.ts'
import { validateWithLibrary } from './validator.fixture.ts'

describe.each(Object.entries(STRICT_VENDORS))('structured output of %s', (name, vendor) => {
  it.each(Object.keys(CASES))('%s comes back in the shape of its schema', async (title) => {
    const [schema, ...values] = CASES[title] ?? expect.fail()
    for (const value of values) {
      const { text, asked } = await answered(vendor, schema, value)
      expect(JSON.parse(text)).toEqual(value)
      await expect(Promise.resolve(validate(schema, JSON.parse(text), validateWithLibrary))).resolves.toBeDefined()
      expect(asked.strict).toBe(!LOOSE[name.split(' ')[0] ?? '']?.includes(title))
    }
  })

  it('an answer that is not JSON comes as it is', async () => {
    const written = 'Sorry, I {cannot} do "that".'
    expect((await answered(vendor, z.array(address), 0, [written])).text).toBe(written)
    expect((await answered(vendor, z.object({ a: z.string().optional() }), 0, [written])).text).toBe(written)
  })

  it('an answer that is cut short comes as far as it goes', async () => {
    const { text } = await answered(vendor, z.object({ a: z.string(), b: z.string().optional() }), 0, [
      '{"a":"x","b":nu',
    ])
    expect(text).toBe('{"a":"x","b":nu')
  })

  it('tools beside it are not held to a subset that their schemas do not fit', async () => {
    const more = (name: string, parameters: JsonSchema) => ({ ...WEATHER, name, parameters })
    const a = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
    const tools = [
      WEATHER,
      more('open', { type: 'object', properties: { when: { type: 'string', minLength: 1 } } }),
      more('either', {
        type: 'object',
        properties: { a: {}, b: {} },
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
      }),
      more('kinds', { type: 'object', oneOf: [a, { $ref: '#/$defs/b' }], $defs: { b: { type: 'object' } } }),
      more('all', { type: 'object', allOf: [a, { properties: { b: { type: 'number' } } }], not: { required: ['c'] } }),
    ]
    const { text } = await answered(vendor, z.object({ a: z.string().optional() }), {}, undefined, tools)
    expect(JSON.parse(text)).toEqual({})
  })
})

it('a vendor that refuses a schema is MODEL_REQUEST_INVALID with its message', async () => {
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
    'aiSdkModel: schemaDialect must be one of openai, anthropic, google, got gogle',
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
    const written =
      constrainedValue(asked.schema, wrapped ? { value } : value) ??
      expect.fail(`no way to say ${JSON.stringify(value)}`)
    expect(validateWithLibrary(asked.schema as JsonSchema, written.value)).toEqual([])
    return JSON.stringify(written.value).match(/.{1,7}/gs) ?? []
  }
  await using server = await serveStrictly(vendor, (asked) => pieces ?? say(asked))
  const model = aiSdkModel(vendor.make(server.url))
  const parts = await ask(model, request(undefined, { options: { responseSchema }, tools }))
  const { content } = messageOf(parts)
  const texts = (Array.isArray(content) ? content : []).map((part) => (part.type === 'text' ? part.text : ''))
  return { text: texts.join(''), asked: vendor.asked(server.bodies[0]) }
}
