import {
  type AgentHandler,
  BaseAgentHandler,
  KernelError,
  type Message,
  type ModelPart,
  type RunContext,
  type ToolCallInput,
  type ToolCallResult,
  type ToolMeta,
  withInstruction,
  withInvokableToolWrapper,
} from '@troupe/kernel'
import { mapStream } from '@troupe/kernel/kit'
import { describe, expect, it } from 'vitest'
import { broken, expectBroken } from './broken.fixture.ts'
import { callMutants } from './call-mutants.fixture.ts'
import type { HandlerMutants } from './handler-mutant.fixture.ts'
import { cuts, historyMutants, rewrites } from './history-mutants.fixture.ts'
import { handlerClauses, testHandler } from './test-handler.ts'

class Everything extends BaseAgentHandler {
  readonly #cache = new Map<string, Promise<ToolCallResult>>()

  override beforeAgent(ctx: RunContext): RunContext {
    return ctx
  }
  override wrapInvokableToolCall(
    ctx: RunContext,
    input: ToolCallInput,
    next: (ctx: RunContext, input: ToolCallInput) => Promise<ToolCallResult>,
  ): Promise<ToolCallResult> {
    if (input.tool?.effect !== 'pure') return next(ctx, input)
    const key = `${input.name}:${input.arguments}`
    const cached = this.#cache.get(key) ?? next(ctx, input)
    this.#cache.set(key, cached)
    return cached
  }
}

const sound = (): AgentHandler => ({
  ...withInstruction('Be brief.'),
  beforeModelRewriteHistory: (_ctx, messages) => messages.slice(),
  afterModelRewriteHistory: (ctx, messages) => ({ messages, ctx }),
  wrapInvokableToolCall: (ctx, input, next) => next(ctx, input),
  wrapStreamableToolCall: async (ctx, input, next) => next(ctx, input),
  wrapModelCall: (ctx, request, next) => mapStream(next(ctx, request), (part) => part),
  afterAgent: () => undefined,
})

testHandler('a handler with every hook', sound)
testHandler('a handler with a cache', () => new Everything('everything'))
testHandler('a handler with no hook', () => ({ name: 'nothing' }))
testHandler('a handler that tries a failed call again', () => ({
  name: 'retry',
  async wrapInvokableToolCall(ctx, input, next) {
    const result = await next(ctx, input)
    return result.error ? next(ctx, input) : result
  },
}))
testHandler('withInvokableToolWrapper', () => withInvokableToolWrapper((ctx, input, next) => next(ctx, input)))

const swallow = async <T>(work: Promise<T>, otherwise: T): Promise<T> => work.catch(() => otherwise)
const oneFinish = 'wrapModelCall ends with exactly one finish'
const configured = 'beforeAgent leaves a configuration that an agent can run with'

const mutants: HandlerMutants = {
  ...callMutants,
  ...historyMutants,
  'it has no name': { handler: () => ({ name: '' }), caught: 'has a name, and hooks that are functions' },
  'a hook is misspelt': {
    handler: () => ({ beforeModel: () => undefined }) as never,
    caught: 'has a name, and hooks that are functions',
  },
  'a hook is not a function': {
    handler: () => ({ afterAgent: 'later' as never }),
    caught: 'has a name, and hooks that are functions',
  },
  'it takes the instruction away': {
    handler: () => ({ beforeAgent: (_ctx, config) => void Reflect.deleteProperty(config, 'instruction') }),
    caught: configured,
  },
  'it adds a tool twice': {
    handler: () => ({ beforeAgent: (_ctx, config) => void config.tools.push(...config.tools) }),
    caught: configured,
  },
  'it drops the result of a call from the input': {
    handler: () => ({
      beforeAgent(_ctx, config) {
        config.input = { messages: config.input.messages.filter(({ role }) => role !== 'tool') }
      },
    }),
    caught: configured,
  },
  'beforeAgent returns something else': {
    handler: () => ({ beforeAgent: () => 'done' as never }),
    caught: configured,
  },
  'it keeps the tools of the first run': {
    handler: () => {
      const kept: ToolMeta[] = []
      return {
        beforeAgent(_ctx, config) {
          kept.push(
            ...config.tools.map(({ tool, returnDirectly }) => ({
              tool: { ...tool, name: `${tool.name}${kept.length}` },
              returnDirectly,
            })),
          )
          config.tools = kept.slice()
        },
      }
    },
    caught: 'a second run does not build on the first',
  },
  'it counts runs in its instruction': {
    handler: () => {
      let runs = 0
      return {
        beforeAgent(_ctx, config) {
          config.instruction += ` This is question ${++runs}.`
        },
      }
    },
    caught: 'a second run does not build on the first',
    says: /^The handler keeps state between runs: after other runs, beforeAgent gave something else\. At 0, expected .*question 1.*, got .*question 4.*\nWhat to do: Keep nothing in the handler that belongs to a run: make a key with `contextKey`/,
  },
  'its limit counts the calls of all runs': {
    handler: () => {
      let calls = 0
      return {
        wrapInvokableToolCall: async (ctx, input, next) =>
          ++calls > 9 ? { content: 'Enough.' } : await next(ctx, input),
      }
    },
    caught: 'a second run does not build on the first',
  },
  'it shows a run what the run before it asked': {
    handler: () => {
      const asked: Message[] = []
      return {
        beforeModelRewriteHistory: (_ctx, messages) => {
          asked.push(...messages.filter(({ role }) => role === 'user').slice(-1))
          return [...asked.slice(0, -1), ...messages]
        },
      }
    },
    caught: 'a second run does not build on the first',
  },
  'it keeps the run in a field': {
    handler: () => {
      let current = ''
      return {
        beforeAgent(ctx) {
          current = ctx.runId
        },
        wrapInvokableToolCall: async (ctx, input, next) => {
          const { content } = await next(ctx, input)
          return { content: `${current}: ${content}` }
        },
      }
    },
    caught: 'two runs at once do not mix',
  },
  'it answers a failed call with nothing': {
    handler: () => ({
      wrapInvokableToolCall: async (ctx, input, next) => {
        const result = await next(ctx, input)
        return result.error ? (undefined as never) : result
      },
    }),
    caught: 'wrapInvokableToolCall gives a result for a call that succeeds and for one that fails',
  },
  'it throws when a tool failed': {
    handler: () => ({
      wrapInvokableToolCall: async (ctx, input, next) => {
        const result = await next(ctx, input)
        if (result.error) throw KernelError.from(result.error)
        return result
      },
    }),
    caught: 'wrapInvokableToolCall gives a result for a call that succeeds and for one that fails',
  },
  'it keeps the call in a field': {
    handler: () => {
      let current: ToolCallInput | undefined
      return {
        wrapInvokableToolCall: async (ctx, input, next) => {
          current = input
          await undefined
          return next(ctx, current)
        },
      }
    },
    caught: 'wrapInvokableToolCall does not mix calls at the same time',
  },
  'it swallows an interrupt': {
    handler: () => ({ wrapInvokableToolCall: (ctx, input, next) => swallow(next(ctx, input), { content: 'no' }) }),
    caught: 'wrapInvokableToolCall passes INTERRUPTED on',
    says: /^wrapInvokableToolCall caught INTERRUPTED and went on\.\nWhat to do: Rethrow it: if \(KernelError\.is\(error, 'INTERRUPTED'\)\) throw error\./,
  },
  'it swallows an abort': {
    handler: () => ({ wrapInvokableToolCall: (ctx, input, next) => swallow(next(ctx, input), { content: 'no' }) }),
    caught: 'wrapInvokableToolCall passes ABORTED on',
  },
  'it swallows an interrupt of a stream': {
    handler: () => ({
      wrapStreamableToolCall: async (ctx, input, next) => {
        const { stream, result } = await next(ctx, input)
        return { stream, result: swallow(result, { content: 'no' }) }
      },
    }),
    caught: 'wrapStreamableToolCall passes INTERRUPTED on',
  },
  'the result of a stream never comes': {
    handler: () => ({
      wrapStreamableToolCall: async (ctx, input, next) => ({
        stream: (await next(ctx, input)).stream,
        result: new Promise(() => undefined),
      }),
    }),
    caught: 'wrapStreamableToolCall gives a result once its stream has ended or was left',
  },
  'it drops the finish': {
    handler: () => ({
      wrapModelCall: (ctx, request, next) =>
        mapStream(next(ctx, request), (part: ModelPart) => (part.type === 'finish' ? undefined : part)),
    }),
    caught: oneFinish,
  },
  'it swallows an abort of the model': {
    handler: () => ({
      async *wrapModelCall(ctx, request, next) {
        try {
          yield* next(ctx, request)
        } catch {
          // gone
        }
      },
    }),
    caught: 'wrapModelCall passes ABORTED on',
  },
  'it cannot take a failed run': {
    handler: () => ({ afterAgent: (_ctx, { outcome }) => (outcome === 'failed' ? fail() : undefined) }),
    caught: 'afterAgent takes every outcome',
  },
}

function fail(): never {
  throw new Error('no')
}

describe('testHandler', () => {
  it('holds for a sound handler', async () => {
    expect(await broken(handlerClauses(sound))).toEqual([])
  })

  for (const [wrong, { handler, caught, says = /./ }] of Object.entries(mutants)) {
    it(`notices that ${wrong}`, async () => {
      const complaints = await expectBroken(
        handlerClauses(() => ({ name: 'broken', ...handler() })),
        [caught],
      )
      expect(complaints.get(caught)).toMatch(says)
    })
  }

  for (const [hook, { name, whole }] of Object.entries(rewrites)) {
    it.each(Object.entries(cuts))(
      `notices that ${hook} %s n messages, for every n up to 100`,
      async (_, { from, cut }) => {
        const missed: number[] = []
        for (let n = Math.max(from, whole + 1); n <= 100; n++) {
          const clauses = handlerClauses(() => ({
            name: 'broken',
            [hook]: (_: unknown, all: Message[]) => cut(all, n),
          }))
          const names = await broken(clauses.filter((clause) => clause.name === name))
          if (names.length === 0) missed.push(n)
        }
        expect(missed).toEqual([])
      },
    )
  }
})
