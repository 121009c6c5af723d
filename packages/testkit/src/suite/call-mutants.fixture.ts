import { KernelError, type ToolCallResult } from '@troupe/kernel'
import type { HandlerMutants } from './handler-mutant.fixture.ts'

const again = (hook: string) =>
  `${hook} executes a call again that another run or another user made before, unless its tool is pure`
const once = (hook: string) => `${hook} executes a call that succeeds at most once, unless its tool is pure`

/** Handlers that execute a tool too often, or not often enough. */
export const callMutants: HandlerMutants = {
  'it caches every tool, pure or not': {
    handler: () => {
      const cache = new Map<string, ToolCallResult>()
      return {
        wrapInvokableToolCall: async (ctx, input, next) => {
          const key = `${input.name} ${input.arguments}`
          const result = cache.get(key) ?? (await next(ctx, input))
          cache.set(key, result)
          return result
        },
      }
    },
    caught: again('wrapInvokableToolCall'),
    says: /^The handler keeps state between runs: run-b of anna made a call that an earlier run had made, and wrapInvokableToolCall did not execute the tool, which is not pure\.\nWhat to do: Let only a tool with `effect: 'pure'`/,
  },
  'it caches every tool of a user': {
    handler: () => {
      const cache = new Map<string, ToolCallResult>()
      return {
        wrapInvokableToolCall: async (ctx, input, next) => {
          const key = `${ctx.session.user} ${input.name} ${input.arguments}`
          const result = cache.get(key) ?? (await next(ctx, input))
          cache.set(key, result)
          return result
        },
      }
    },
    caught: again('wrapInvokableToolCall'),
  },
  'it executes a call again and gives what the first run got': {
    handler: () => {
      const cache = new Map<string, ToolCallResult>()
      return {
        wrapInvokableToolCall: async (ctx, input, next) => {
          const result = await next(ctx, input)
          const first = cache.get(input.arguments) ?? result
          cache.set(input.arguments, first)
          return first
        },
      }
    },
    caught: again('wrapInvokableToolCall'),
    says: /wrapInvokableToolCall changed the result\. At content, expected "result 1 of run-b", got "result 1 of run-a"\./,
  },
  'it caches a tool that may be repeated as if it were pure': {
    handler: () => {
      const cache = new Map<string, ToolCallResult>()
      return {
        wrapInvokableToolCall: async (ctx, input, next) => {
          if (input.tool?.effect !== 'idempotent') return next(ctx, input)
          const result = cache.get(input.arguments) ?? (await next(ctx, input))
          cache.set(input.arguments, result)
          return result
        },
      }
    },
    caught: again('wrapInvokableToolCall'),
  },
  'it refuses a call that it has seen in another run': {
    handler: () => {
      const seen = new Map<string, string>()
      return {
        wrapInvokableToolCall: async (ctx, input, next) => {
          const first = seen.get(input.arguments) ?? ctx.runId
          seen.set(input.arguments, first)
          return first === ctx.runId ? next(ctx, input) : { content: 'seen before' }
        },
      }
    },
    caught: again('wrapInvokableToolCall'),
  },
  'it refuses arguments that it has seen': {
    handler: () => {
      const seen = new Set<string>()
      return {
        wrapInvokableToolCall: async (ctx, input, next) => {
          if (seen.has(input.arguments)) return { content: 'seen before' }
          seen.add(input.arguments)
          return next(ctx, input)
        },
      }
    },
    caught: again('wrapInvokableToolCall'),
  },
  'it refuses arguments of a stream that it has seen': {
    handler: () => {
      const seen = new Set<string>()
      return {
        wrapStreamableToolCall: async (ctx, input, next) => {
          if (seen.has(input.arguments)) throw new KernelError('TOOL_FAILED', 'test: seen before')
          seen.add(input.arguments)
          return next(ctx, input)
        },
      }
    },
    caught: again('wrapStreamableToolCall'),
  },
  'it executes every call twice': {
    handler: () => ({
      wrapInvokableToolCall: async (ctx, input, next) => {
        await next(ctx, input)
        return next(ctx, input)
      },
    }),
    caught: once('wrapInvokableToolCall'),
    says: /^wrapInvokableToolCall executed one call 2 times, though it succeeded and its tool is not pure\.\nWhat to do: Call `next` once/,
  },
  'it executes a call once more when it has answered': {
    handler: () => ({
      wrapInvokableToolCall: async (ctx, input, next) => {
        const result = await next(ctx, input)
        Promise.resolve().then(() => next(ctx, input))
        return result
      },
    }),
    caught: once('wrapInvokableToolCall'),
  },
  'it opens every stream twice': {
    handler: () => ({
      wrapStreamableToolCall: async (ctx, input, next) => {
        await next(ctx, input)
        return next(ctx, input)
      },
    }),
    caught: once('wrapStreamableToolCall'),
  },
}
