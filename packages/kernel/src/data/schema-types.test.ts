import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import { defineTool } from '../agent/define-tool.ts'
import type { Tool } from '../agent/tool.ts'
import type { AgentEvent } from './event.ts'
import type { Json } from './json.ts'
import type { Message } from './message.ts'
import type { FromJsonSchema, Infer, JsonSchema } from './schema.ts'

const base = { name: 'forecast', description: 'The weather to come.' }

describe('defineTool infers its arguments', () => {
  it('from zod 4', () => {
    defineTool({
      ...base,
      parameters: z.object({ city: z.string(), days: z.number().default(3), unit: z.enum(['C', 'F']).optional() }),
      invoke: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ city: string; days: number; unit?: 'C' | 'F' | undefined }>()
        return args.city
      },
    })
  })

  it('from arktype', () => {
    defineTool({
      ...base,
      parameters: type({ city: 'string', 'days?': 'number' }),
      invoke: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ city: string; days?: number }>()
        return args.city
      },
    })
  })

  it('from valibot through its converter', () => {
    defineTool({
      ...base,
      parameters: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number()) })),
      invoke: (args) => {
        expectTypeOf(args.city).toEqualTypeOf<string>()
        expectTypeOf(args.days).toEqualTypeOf<number | undefined>()
        return args.city
      },
    })
  })

  it('from a JSON Schema literal', () => {
    const tool = defineTool({
      ...base,
      parameters: {
        type: 'object',
        properties: {
          city: { type: 'string' },
          days: { type: 'integer' },
          unit: { enum: ['C', 'F'] },
          tags: { type: 'array', items: { type: 'string' } },
          at: { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] },
        },
        required: ['city', 'at'],
      },
      invoke: (args) => {
        expectTypeOf(args).toEqualTypeOf<{
          city: string
          at: { lat: number }
          days?: number
          unit?: 'C' | 'F'
          tags?: string[]
        }>()
        return args.city
      },
    })
    expectTypeOf(tool).toExtend<Tool>()
  })

  it('as unknown from a schema known only at run time', () => {
    defineTool({
      ...base,
      parameters: { type: 'object' } as JsonSchema,
      invoke: (args) => {
        expectTypeOf(args).toBeUnknown()
        return ''
      },
    })
  })

  it('and refuses a body that wants other arguments', () => {
    defineTool({
      ...base,
      parameters: z.object({ city: z.string() }),
      // @ts-expect-error town is not among the parameters
      invoke: ({ town }) => town,
    })
  })
})

describe('schema types', () => {
  it('are read off const, null and unknown parts', () => {
    expectTypeOf<FromJsonSchema<{ readonly const: 3 }>>().toEqualTypeOf<3>()
    expectTypeOf<FromJsonSchema<{ readonly type: 'null' }>>().toEqualTypeOf<null>()
    expectTypeOf<FromJsonSchema<{ readonly anyOf: [] }>>().toBeUnknown()
    expectTypeOf<Infer<z.ZodString>>().toEqualTypeOf<string>()
  })
})

describe('events and messages', () => {
  it('are JSON by type, without a cast', () => {
    expectTypeOf<AgentEvent>().toExtend<Json>()
    expectTypeOf<Message>().toExtend<Json>()
  })

  it('are a closed union that a switch can exhaust', () => {
    const name = (event: AgentEvent): string => {
      switch (event.type) {
        case 'run-start':
        case 'agent-start':
        case 'message-start':
        case 'text-delta':
        case 'reasoning-delta':
        case 'tool-call-start':
        case 'tool-call-delta':
        case 'tool-call-end':
        case 'message-end':
        case 'tool-start':
        case 'tool-delta':
        case 'tool-end':
        case 'state-delta':
        case 'action':
        case 'custom':
        case 'error':
        case 'agent-end':
        case 'run-end':
          return event.type
        default:
          return event satisfies never
      }
    }
    expectTypeOf(name).returns.toBeString()
  })
})
