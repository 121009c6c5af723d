import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toolResult } from '../kit.ts'

describe('a tool may return', () => {
  test.each<[string, unknown, object]>([
    ['text, which stays text', 'Sunny.', { content: 'Sunny.' }],
    ['text that looks like JSON, which stays text too', '{"a":1}', { content: '{"a":1}' }],
    ['nothing', undefined, { content: '' }],
    ['an object', { celsius: 24 }, { content: '{"celsius":24}', data: { celsius: 24 } }],
    ['a list', [1, 'b'], { content: '[1,"b"]', data: [1, 'b'] }],
    ['a number', 0, { content: '0', data: 0 }],
    ['a boolean', false, { content: 'false', data: false }],
    ['null', null, { content: 'null', data: null }],
    ['a whole result', { content: 'x', display: 'X', data: 1 }, { content: 'x', display: 'X', data: 1 }],
    ['parts', { content: [{ type: 'text', text: 'x' }] }, { content: [{ type: 'text', text: 'x' }] }],
    ['data with a content of its own', { content: 'x', path: 'a.md' }, { data: { content: 'x', path: 'a.md' } }],
    ['data whose content is data', { content: { a: 1 } }, { content: '{"content":{"a":1}}' }],
    ['a date, as JSON has it', { at: new Date(0) }, { data: { at: '1970-01-01T00:00:00.000Z' } }],
    ['a result with a date in its data', { content: 'x', data: new Date(0) }, { data: '1970-01-01T00:00:00.000Z' }],
    ['properties that are not set', { a: 1, b: undefined }, { content: '{"a":1}', data: { a: 1 } }],
    [
      'an instance of a class, as its own data',
      [
        new (class Row {
          readonly id = 1
        })(),
      ],
      { data: [{ id: 1 }] },
    ],
    ['an object of another realm', runInNewContext('({ a: [1] })'), { data: { a: [1] } }],
    ['a row without a prototype', Object.assign(Object.create(null), { id: 1 }), { data: { id: 1 } }],
  ])('%s', (_, output, result) => {
    expect(toolResult('t', output as object)).toMatchObject(result)
  })

  test('any JSON value, which programs get as it is and the model as its text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        if (typeof value === 'string' || JSON.stringify(value).includes('__proto__')) return
        const { content, data } = toolResult('t', value as object)
        expect(data).toEqual(JSON.parse(content as string))
        expect(JSON.stringify(data)).toBe(JSON.stringify(value))
      }),
    )
  })
})

describe('what is not JSON names the tool and the path', () => {
  const cycle: Record<string, unknown> = { deep: {} }
  ;(cycle.deep as Record<string, unknown>).back = cycle
  test.each<[string, unknown, string]>([
    ['a function', { run: () => 1 }, '.run'],
    ['a cycle', cycle, '.deep.back'],
    ['a map', { list: [new Map()] }, '.list[0]'],
    ['an instance of a class', { at: new (class Money {})() }, '.at'],
    ['not a number', { a: [0, Number.NaN] }, '.a[1]'],
    ['a bigint', { id: 1n }, '.id'],
    ['nothing in a list', [undefined], '[0]'],
    ['a promise', { later: Promise.resolve(1) }, '.later'],
    ['bytes', { bytes: new Uint8Array(2) }, '.bytes'],
    ['a hole in a list', Array(2), '[0]'],
    ['a symbol', Symbol('x'), ''],
    ['a result that is not', { content: 'x', data: () => 1 }, '.data'],
  ])('%s', (_, output, path) => {
    expect(() => toolResult('get_weather', output as object)).toThrow(
      expect.objectContaining({
        code: 'TOOL_FAILED',
        message: expect.stringMatching(
          /^tool get_weather: its result( at \S+)? (is|has) .*, which is not JSON; return text/,
        ),
        details: { tool: 'get_weather', path },
      }),
    )
  })
})
