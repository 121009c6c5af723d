import { describe, expect, it, test } from 'vitest'
import { KernelError } from '../index.ts'
import { checkOptionNames, suggestion } from '../kit.ts'
import { nearest } from './option.ts'

const known = { instruction: true, tools: true, maxIterations: true, onError: true } as const
const refusal = (options: object, aliases?: Record<string, 'tools'>) => {
  try {
    checkOptionNames('agent weather', options as never, known as never, aliases as never)
  } catch (error) {
    return KernelError.from(error)
  }
  return undefined
}

describe('checkOptionNames', () => {
  it('refuses an unknown option with the nearest known one', () => {
    expect(refusal({ instructions: 'Help.' })).toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'agent weather: unknown option instructions; did you mean instruction?',
    })
  })

  it('names all options where none is near', () => {
    expect(refusal({ colour: 'red' })?.message).toBe(
      'agent weather: unknown option colour; known are instruction, tools, maxIterations, onError',
    )
  })

  it('knows what others call it', () => {
    expect(refusal({ functions: [] }, { functions: 'tools' })?.message).toMatch(/functions; did you mean tools\?$/)
  })

  test.each([
    ['a known one', { tools: [] }],
    ['one that is undefined', { colour: undefined }],
    ['an object without a prototype', Object.assign(Object.create(null), { tools: [] })],
    [
      'an instance of a class, which may have members of its own',
      new (class {
        readonly colour = 'red'
      })(),
    ],
    ['what it inherits', Object.create({ colour: 'red' })],
  ])('takes %s', (_, options) => {
    expect(refusal(options)).toBeUndefined()
  })

  test.each([undefined, null, 3, 'text', [], [{}], () => {}])(
    'refuses %o, which is not an object of options',
    (options) => {
      expect(refusal(options as never)?.message).toMatch(/^agent weather: expected an object of options, got /)
    },
  )

  it('does not take what every object has for a known option', () => {
    expect(refusal({ toString: () => 'x' })?.message).toMatch(/unknown option toString/)
    expect(refusal(JSON.parse('{ "__proto__": 1 }'))?.message).toMatch(/unknown option __proto__/)
  })

  it('checks a plain object of another realm', async () => {
    const { runInNewContext } = await import('node:vm')
    expect(refusal(runInNewContext('({ tool: [] })'))?.message).toMatch(/did you mean tools\?/)
  })
})

test.each([
  ['Instruction', 'instruction'],
  ['max_iterations', 'maxIterations'],
  ['maxIteration', 'maxIterations'],
  ['iterations', 'maxIterations'],
  ['tool', 'tools'],
  ['onerror', 'onError'],
  ['intsruction', 'instruction'],
])('%s was meant as %s', (name, meant) => {
  expect(nearest(name, Object.keys(known))).toBe(meant)
  expect(suggestion(name, Object.keys(known))).toBe(`did you mean ${meant}?`)
})

test.each(['x', 'colour', ''])('nothing is near to %o', (name) => {
  expect(nearest(name, Object.keys(known))).toBeUndefined()
})
