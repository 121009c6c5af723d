import { KernelError } from '@troupe/kernel'
import { toJsonSchema, validate } from '@troupe/kernel/kit'
import { jsonSchemaValidator } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { clientProxyTool } from './client-proxy-tool.ts'
import { clientProxyToolset } from './client-proxy-toolset.ts'

const parameters = {
  type: 'object',
  properties: {
    city: { type: 'string', pattern: '^(a+)+$' },
    days: { type: 'integer' },
    tags: { type: 'array' },
    any: {},
  },
  required: ['city'],
}
const tool = clientProxyTool({ name: 'show', description: 'Shows.', parameters })
const check = (value: unknown) =>
  Promise.resolve(validate(tool.parameters, value, jsonSchemaValidator)).catch(
    (error: unknown) => KernelError.from(error).message,
  )

describe('工具支持: ClientProxyTool', () => {
  test('is long-running and shows the model the schema of the client', () => {
    expect(tool).toMatchObject({ name: 'show', description: 'Shows.', longRunning: true })
    expect(tool.invoke).toBeUndefined()
    expect(toJsonSchema(tool.parameters)).toEqual(parameters)
  })

  test('without a schema takes no arguments', () => {
    const bare = clientProxyTool({ name: 'go', description: '' })
    expect(toJsonSchema(bare.parameters)).toEqual({ type: 'object', properties: {} })
  })

  test.each([
    [
      { city: 'Beijing', days: 3, tags: [], any: null, more: 1 },
      { city: 'Beijing', days: 3, tags: [], any: null, more: 1 },
    ],
    [{}, 'city: is required'],
    [{ city: 7 }, 'city: expected string, got 7'],
    [{ city: 'x', days: 1.5 }, 'days: expected integer, got 1.5'],
    [{ city: 'x', tags: {} }, 'tags: expected array, got an object'],
    [[], 'expected an object, got an array'],
  ])('%j', async (value, expected) => {
    expect(await check(value)).toEqual(expected)
  })

  test('does not evaluate patterns of the client, which could take for ever', async () => {
    const begin = performance.now()
    expect(await check({ city: `${'a'.repeat(40)}!` })).toEqual({ city: `${'a'.repeat(40)}!` })
    expect(performance.now() - begin).toBeLessThan(1_000)
  })

  test('does not follow references of the client', async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    )
    const tangled = clientProxyTool({
      name: 't',
      description: '',
      parameters: { $defs: { ...$defs, d40: {} }, $ref: '#/$defs/d0' },
    })
    expect(await validate(tangled.parameters, { a: 1 }, jsonSchemaValidator)).toEqual({ a: 1 })
  })
})

test('工具合并策略: the name of the transfer tool is reserved', () => {
  const set = clientProxyToolset([
    { name: 'transfer_to_agent', description: 'Mine.' },
    { name: 'pick', description: 'Picks.' },
  ])
  expect(set.map((meta) => meta.tool.name)).toEqual(['pick'])
})
