import { KernelError } from '@troupe/kernel'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkTemplateNames, compileTemplate } from './template.ts'

describe('a template', () => {
  test('replaces every occurrence of a name by its value', () => {
    const { names, render } = compileTemplate('Find ${what} in ${where}: ${what}!')
    expect([...names]).toEqual([
      ['what', 5],
      ['where', 16],
    ])
    expect(render({ what: 'x', where: 'y' })).toBe('Find x in y: x!')
  })

  test('inserts texts as they are, others as JSON, and nothing for a missing value', () => {
    const { render } = compileTemplate('${a}|${b}|${c}|${d}|${e}')
    expect(render({ a: 'text', b: 3, c: ['x', 1], d: null })).toBe('text|3|["x",1]||')
  })

  test('never looks for names in a value', () => {
    expect(compileTemplate('${a} ${b}').render({ a: '${b} $& $1 $${b}', b: 'B' })).toBe('${b} $& $1 $${b} B')
  })

  test('does not take a member of every object for an input', () => {
    expect(compileTemplate('[${constructor}]').render({})).toBe('[]')
  })

  test('$${ is a literal ${', () => {
    const { names, render } = compileTemplate('Use $${HOME} and $${, not ${home}.')
    expect([[...names.keys()], render({ home: 'h' })]).toEqual([['home'], 'Use ${HOME} and ${, not h.'])
  })

  test.each(['${}', '${a b}', '${a.b}', '${ a }', 'open ${a', '${', '${${a}}', '${1a}'])(
    '%s is CONFIG_INVALID',
    (text) => {
      expect(() => compileTemplate(text)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    },
  )

  test('all names that are not inputs are listed', () => {
    const check = () =>
      checkTemplateNames(compileTemplate('${a} ${x} ${b} ${y} ${x}'), { a: {}, b: {} }, 'agent t', ['prompt'])
    expect(check).toThrow('agent t: prompt must name only inputs (a, b), got "${x}, ${y}"')
  })

  test('renders the same as a hand-written join, for any pieces (property)', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '$', '{', '}', ' ', '中') })
    const literal = text.map((piece) => piece.replaceAll('$', '').replaceAll('{', ''))
    const pieces = fc.array(fc.oneof(literal, fc.record({ name: fc.constantFrom('x', 'y_1', 'z-z') })), {
      maxLength: 8,
    })
    fc.assert(
      fc.property(pieces, fc.dictionary(fc.constantFrom('x', 'y_1', 'z-z'), text), (list, values) => {
        const template = compileTemplate(
          list.map((one) => (typeof one === 'string' ? one : `\${${one.name}}`)).join(''),
        )
        const expected = list.map((one) => (typeof one === 'string' ? one : (values[one.name] ?? ''))).join('')
        expect(template.render(values)).toBe(expected)
      }),
      { seed: 7, numRuns: 500 },
    )
  })

  test('either compiles or is refused with a code, whatever the text (property)', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '$', '{', '}', ' ') }), (text) => {
        try {
          compileTemplate(text).render({})
        } catch (error) {
          expect(KernelError.is(error, 'CONFIG_INVALID')).toBe(true)
        }
      }),
      { seed: 8, numRuns: 1_000 },
    )
  })
})
