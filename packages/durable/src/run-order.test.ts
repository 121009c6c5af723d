import { contextKey, defineTool, type RunInput } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { describe, expect, it } from 'vitest'
import { inputOf, orderedInput, sharedValues, withValues } from './run-order.ts'

const LOCALE = contextKey<string>('locale')
const LIMIT = contextKey<{ readonly calls: number }>('limit')
const keys = [LOCALE, LIMIT]

describe('what crosses to a worker', () => {
  it('are the tools that a client answers, with their schema, and not their code', async () => {
    const parameters = { type: 'object', properties: { colour: { type: 'string', pattern: '(a+)+$' } } } as const
    const pick = { name: 'pick', description: 'Picks.', kind: 'read', parameters, longRunning: true } as const
    const input: RunInput = {
      messages: [],
      additions: { instruction: 'Be short.', tools: [{ tool: pick, returnDirectly: false }] },
    }
    const { additions } = inputOf(JSON.parse(JSON.stringify(orderedInput(input))))
    expect(additions).toMatchObject({
      instruction: 'Be short.',
      tools: [
        { returnDirectly: false, tool: { name: 'pick', description: 'Picks.', kind: 'read', longRunning: true } },
      ],
    })
    const schema = additions?.tools?.[0]?.tool.parameters as unknown as { '~standard': Record<string, unknown> }
    const { validate, jsonSchema } = schema['~standard'] as never as {
      validate(value: unknown): unknown
      jsonSchema: { input(): unknown }
    }
    expect(jsonSchema.input()).toEqual(parameters)
    expect([validate({ colour: 7 }), validate('red')]).toEqual([
      { value: { colour: 7 } },
      { issues: [{ message: 'expected an object' }] },
    ])
  })

  it('is refused for a tool that has code', () => {
    const tool = defineTool({ name: 'add', description: 'Adds.', parameters: { type: 'object' }, invoke: () => 'done' })
    const order = () => orderedInput({ messages: [], additions: { tools: [{ tool, returnDirectly: false }] } })
    expect(order).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('add') }))
  })

  it('are the context values of the shared keys', () => {
    const values = sharedValues(keys, { prepare: (ctx) => ctx.with(LOCALE, 'zh') }, 'r')
    expect(values).toEqual({ locale: 'zh' })
    const ctx = withValues(keys, values)(createRunContext())
    expect([ctx.get(LOCALE), ctx.get(LIMIT)]).toEqual(['zh', undefined])
  })

  it('is refused for a context value that is not JSON', () => {
    const share = () => sharedValues(keys, { prepare: (ctx) => ctx.with(LIMIT, { calls: (() => 1) as never }) }, 'r')
    expect(share).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})
