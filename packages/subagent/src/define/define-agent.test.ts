import type { KernelError } from '@troupe/kernel'
import { toJsonSchema } from '@troupe/kernel/kit'
import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { agent } from '../lead.fixture.ts'
import { DEFAULT_LIMITS, resolveLimits } from './agent-limits.ts'
import { type AgentDefinition, type AgentOptions, defineAgent, isDefinition } from './define-agent.ts'

const errorOf = (change: object): KernelError => {
  try {
    agent('a', change as Partial<AgentOptions>)
  } catch (error) {
    return error as KernelError
  }
  throw new Error('nothing was thrown')
}

describe('an input', () => {
  test('in the simple form has the schema of the spec, and required', () => {
    expect(agent('a').parameters).toStrictEqual({
      type: 'object',
      properties: { task: { type: 'string', description: 'What to do' } },
      required: ['task'],
    })
  })

  test('as a Standard Schema stays itself', () => {
    const input = z.object({ city: z.string() })
    expect(agent('a', { input }).parameters).toBe(input)
  })

  test('as JSON Schema has required, even if it did not say so', () => {
    const input = { type: 'object', properties: { city: { type: 'string' } } } as const
    expect(agent('a', { input }).parameters).toStrictEqual({ ...input, required: [] })
  })

  test.each<[string, object, string]>([
    ['none', { input: undefined }, 'CONFIG_INVALID'],
    ['of an unknown type', { input: { inputs: { x: { type: 'date', description: '' } } } }, 'CONFIG_INVALID'],
    ['that is not a schema', { input: 3 }, 'SCHEMA_INVALID'],
    ['of a malformed schema', { input: { type: 'object', properties: { x: { type: 'text' } } } }, 'SCHEMA_INVALID'],
    ['of a schema of a list', { input: { type: 'array' } }, 'SCHEMA_INVALID'],
    ['of a schema without a type', { input: {} }, 'SCHEMA_INVALID'],
    [
      'with a reference to nowhere',
      { input: { type: 'object', properties: {}, $ref: '#/$defs/no' } },
      'SCHEMA_INVALID',
    ],
    ['with a name that is taken', { input: z.object({ agent_name: z.string() }) }, 'CONFIG_INVALID'],
  ])('%s is refused', (_, change, code) => {
    const error = errorOf(change)
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(/^agent a: /)])
  })
})

describe('an agent', () => {
  test('is frozen, and known as one', () => {
    const defined = agent('a')
    expect([Object.isFrozen(defined), isDefinition(defined), isDefinition({ ...defined })]).toEqual([true, true, false])
  })

  test('is pure: the options stay as they are', () => {
    const options = { name: 'a', description: 'd', input: { inputs: {} }, prompt: 'p' } as const
    defineAgent(Object.freeze(options))
    expect(options).toStrictEqual({ name: 'a', description: 'd', input: { inputs: {} }, prompt: 'p' })
  })

  test.each(['', ' ', 'a b', 'a/b', 'a*', '1a', '-a', 'ä', '__proto__', 'x'.repeat(65), 3, undefined])(
    'named %o is CONFIG_INVALID',
    (name) => {
      expect(() => agent(name as string)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    },
  )

  test.each(['complete_task', 'invoke_agent'])('named %s is CONFIG_INVALID: the name is reserved', (name) => {
    expect(() => agent(name)).toThrow(/reserved/)
  })

  test.each<[string, object, readonly string[]]>([
    ['a blank description', { description: ' ' }, ['description']],
    ['a blank prompt', { prompt: '\n' }, ['prompt']],
    ['a query that is not a text', { query: 3 }, ['query']],
    ['an empty model name', { model: '' }, ['model']],
    ['an invalid model', { model: {} }, ['model']],
    ['tools that are none', { tools: 'all' }, ['tools']],
    ['an unknown key', { maxTurns: 3 }, ['maxTurns']],
    ['no turns', { limits: { maxTurns: 0 } }, ['limits', 'maxTurns']],
    ['half a turn', { limits: { maxTurns: 1.5 } }, ['limits', 'maxTurns']],
    ['a negative time', { limits: { timeoutMs: -1 } }, ['limits', 'timeoutMs']],
    ['NaN', { limits: { maxTokens: Number.NaN } }, ['limits', 'maxTokens']],
    ['a limit as text', { limits: { maxToolCalls: '3' } }, ['limits', 'maxToolCalls']],
    ['an unknown limit', { limits: { maxSteps: 3 } }, ['limits', 'maxSteps']],
    ['limits that are a list', { limits: [] }, ['limits']],
    ['a prompt with a missing name', { prompt: 'Do ${it}' }, ['prompt']],
    ['a query with a missing name', { query: '${what}' }, ['query']],
  ])('with %s is CONFIG_INVALID and says where', (_, change, path) => {
    const { code, details } = errorOf(change)
    expect([code, details.path]).toEqual(['CONFIG_INVALID', path])
  })

  test('a template with missing names lists them all', () => {
    expect(errorOf({ prompt: 'Do ${x} for ${task} and ${y}' }).message).toBe(
      'agent a: prompt must name only inputs (task), got "${x}, ${y}"',
    )
  })

  test('an output that is not a schema is SCHEMA_INVALID', () => {
    expect(errorOf({ output: { type: 'text' } })).toMatchObject({
      code: 'SCHEMA_INVALID',
      details: { path: ['output'] },
    })
  })
})

test('limits: the definition before the environment before the defaults', () => {
  expect(resolveLimits({ maxTurns: 2 }, { maxTurns: 3, maxTokens: 4 })).toEqual({
    ...DEFAULT_LIMITS,
    maxTurns: 2,
    maxTokens: 4,
  })
  expect(DEFAULT_LIMITS).toMatchObject({ maxTurns: 20, maxDepth: 3 })
})

test('type safety (类型安全): inputs and output are typed after their schemas', () => {
  const typed = defineAgent({
    name: 'typed',
    description: 'd',
    input: z.object({ city: z.string() }),
    output: z.object({ degrees: z.number() }),
    prompt: 'In ${city}.',
  })
  expectTypeOf(typed).toEqualTypeOf<AgentDefinition<{ city: string }, { degrees: number }>>()
  const simple = defineAgent({
    name: 'simple',
    description: 'd',
    input: { inputs: { n: { type: 'integer', description: 'n', required: true } } },
    prompt: 'p',
  })
  expectTypeOf(simple).toEqualTypeOf<AgentDefinition<{ readonly n: number }, string>>()
  expect(toJsonSchema(typed.parameters)).toMatchObject({ required: ['city'] })
})
