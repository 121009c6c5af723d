import { expect, it } from 'vitest'
import { toolSchema } from './tool-schema.ts'

it('parameters that are a plain object are sent as they are', () => {
  const parameters = { type: 'object', properties: { a: { anyOf: [{ type: 'string' }] } } }
  expect(toolSchema(parameters)).toBe(parameters)
})

it('kinds of arguments become one object with the members of all, and a name that all need is needed', () => {
  const parameters = {
    type: 'object',
    description: 'What to draw.',
    oneOf: [
      { properties: { kind: { const: 'circle' }, radius: { type: 'number' } }, required: ['kind', 'radius'] },
      { $ref: '#/$defs/square' },
    ],
    $defs: { square: { properties: { kind: { const: 'square' }, side: { type: 'number' } }, required: ['kind'] } },
  }
  const flat = toolSchema(parameters)
  expect(flat).toEqual({
    type: 'object',
    description: `What to draw.\noneOf: ${JSON.stringify(parameters.oneOf)}`,
    properties: {
      kind: { anyOf: [{ const: 'circle' }, { const: 'square' }] },
      radius: { type: 'number' },
      side: { type: 'number' },
    },
    required: ['kind'],
    $defs: parameters.$defs,
  })
  expect(toolSchema(parameters)).toBe(flat)
})

it('parts that all apply are put together', () => {
  const part = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })
  expect(toolSchema({ type: 'object', allOf: [part('a'), part('b')] })).toEqual({
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    required: ['a', 'b'],
  })
})
