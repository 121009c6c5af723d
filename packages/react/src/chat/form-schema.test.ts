import { expect, it, test } from 'vitest'
import { answerIn, choicesOf, formOf, inputType } from './form-schema.ts'

/** What a form with these values sends. */
function answerTo(schema: unknown, values: Readonly<Record<string, string | readonly string[]>>): unknown {
  const data = new FormData()
  for (const [name, given] of Object.entries(values)) for (const value of [given].flat()) data.append(name, value)
  return answerIn(formOf(schema), data)
}

const object = (properties: object, ...required: string[]) => ({ type: 'object', properties, required })

test.each([
  [undefined, { answer: 'Tea' }, { answer: 'Tea' }],
  [{ type: 'string' }, { answer: '19:30' }, '19:30'],
  [{ type: 'number' }, { answer: '2.5' }, 2.5],
  [{ type: 'boolean' }, {}, false],
  [{ enum: ['a', 2] }, { answer: '1' }, 2],
  [object({ n: { type: 'integer' }, s: { type: 'string' } }, 'n'), { n: '3', s: '' }, { n: 3 }],
  [object({ yes: { type: 'boolean' } }), { yes: 'on' }, { yes: true }],
  [object({ one: { oneOf: [{ const: 'x', title: 'Ex' }] } }), { one: '0' }, { one: 'x' }],
  [object({ many: { type: 'array', items: { enum: ['a', 'b', 'c'] } } }), { many: ['0', '2'] }, { many: ['a', 'c'] }],
  [object({ raw: { type: 'object' } }), { raw: '{"a":1}' }, { raw: { a: 1 } }],
])('the answer to %j with %j is %j', (schema, values, answer) => {
  expect(answerTo(schema, values)).toEqual(answer)
})

it('names choices by their titles, and chooses the input of a format', () => {
  expect(choicesOf({ enum: [1, 2], enumNames: ['one', 'two'] })?.map(({ label }) => label)).toEqual(['one', 'two'])
  expect(choicesOf({ type: 'string' })).toBeUndefined()
  expect(inputType({ type: 'string', format: 'date' })).toBe('date')
  expect(inputType({ type: 'string', format: 'uuid' })).toBe('text')
})
