import {
  type AgentHandler,
  BaseAgentHandler,
  contextKey,
  type RunContext,
  withBeforeAgent,
  withInstructionFunc,
  withInvokableToolWrapper,
  withToolsFunc,
} from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { calling, hello, runAgent, tool } from '../chat-model.fixture.ts'
import { type AgentMiddleware, chatModelAgent } from '../index.ts'

/** A handler with every hook, each of which says that it was here. */
function talkative(name: string, log: string[]): AgentHandler {
  const say = (what: string) => void log.push(`${name} ${what}`)
  return {
    name,
    beforeAgent: () => say('beforeAgent'),
    beforeModelRewriteHistory: () => say('before model'),
    afterModelRewriteHistory: () => say('after model'),
    async wrapInvokableToolCall(ctx, input, next) {
      say(`> ${input.name}`)
      const result = await next(ctx, input)
      say(`< ${input.name}`)
      return result
    },
    async *wrapModelCall(ctx, request, next) {
      say('> model')
      yield* next(ctx, request)
      say('< model')
    },
    afterAgent: () => say('afterAgent'),
  }
}

function talkativeMiddleware(name: string, log: string[]): AgentMiddleware {
  const say = (what: string) => void log.push(`${name} ${what}`)
  return {
    beforeChatModel: () => say('before model'),
    afterChatModel: () => say('after model'),
    wrapToolCall: {
      invokable: (next) => async (ctx, input) => {
        say(`> ${input.name}`)
        const result = await next(ctx, input)
        say(`< ${input.name}`)
        return result
      },
    },
  }
}

describe('6.1 order', () => {
  test('middlewares first, then handlers; every hook runs forward; wraps nest, first registered outermost', async () => {
    const log: string[] = []
    const t = tool('t', () => `${log.push('tool t')}`)
    await runAgent([calling('t'), 'Done.'], {
      tools: [t],
      middlewares: [talkativeMiddleware('m0', log), talkativeMiddleware('m1', log)],
      handlers: [talkative('h0', log), talkative('h1', log)],
    })
    const turn = (names: readonly string[], what: string) => names.map((name) => `${name} ${what}`)
    const all = ['m0', 'm1', 'h0', 'h1']
    const model = [
      ...turn(all, 'before model'),
      ...['h0 > model', 'h1 > model', 'h1 < model', 'h0 < model'],
      ...turn(all, 'after model'),
    ]
    expect(log).toEqual([
      ...turn(['h0', 'h1'], 'beforeAgent'),
      ...model,
      ...turn(all, '> t'),
      'tool t',
      ...turn(all.toReversed(), '< t'),
      ...model,
      ...turn(['h0', 'h1'], 'afterAgent'),
    ])
  })

  test('a legacy middleware is itself a handler and keeps its place in the list of handlers', async () => {
    const log: string[] = []
    await runAgent(['Done.'], { handlers: [talkative('h0', log), talkativeMiddleware('m', log), talkative('h1', log)] })
    expect(log.filter((line) => line.endsWith('before model'))).toEqual([
      'h0 before model',
      'm before model',
      'h1 before model',
    ])
  })

  test('beforeAgent runs once per run, however many model calls it has', async () => {
    const log: string[] = []
    await runAgent([calling('t'), calling('t'), 'Done.'], { tools: [tool('t')], handlers: [talkative('h', log)] })
    expect(log.filter((line) => line === 'h beforeAgent')).toHaveLength(1)
    expect(log.filter((line) => line === 'h before model')).toHaveLength(3)
    expect(log.filter((line) => line === 'h after model')).toHaveLength(3)
  })

  test('beforeAgent runs once per resume, and what it sets counts there', async () => {
    let runs = 0
    const handlers = [withInstructionFunc(() => `run ${++runs}`)]
    const tools = [tool('t', async (_args, ctx) => `got ${await ctx.interrupt({ reason: 'input' })}`)]
    const first = await runAgent([calling('t')], { tools, handlers }, hello, { canInterrupt: true })
    const second = await runAgent(['Done.'], { tools, handlers }, first.resume({ t: 1 }), {
      canInterrupt: true,
      runId: 'R2',
    })
    expect(runs).toBe(2)
    expect(second.requests.map(({ instruction }) => instruction)).toEqual(['run 2'])
  })

  test('asynchronous hooks are awaited before the next one', async () => {
    const log: string[] = []
    const slow = (name: string): AgentHandler => ({
      name,
      async beforeAgent() {
        log.push(`${name} begins`)
        await Promise.resolve()
        log.push(`${name} ends`)
      },
    })
    await runAgent(['Done.'], { handlers: [slow('h0'), slow('h1')] })
    expect(log).toEqual(['h0 begins', 'h0 ends', 'h1 begins', 'h1 ends'])
  })
})

describe('3.4 context values: what one hook sets the later ones see', () => {
  test('set in one hook are visible in the later hooks, in wraps and inside tools', async () => {
    const keys = { agent: contextKey<1>('agent'), before: contextKey<1>('before'), after: contextKey<1>('after') }
    const wrapped = contextKey<1>('wrapped')
    const seen: Record<string, string> = {}
    const look = (where: string, ctx: RunContext) => {
      seen[where] ??= [...Object.values(keys), wrapped].flatMap((key) => (ctx.get(key) ? [key.name] : [])).join()
    }
    const setter: AgentHandler = {
      name: 'setter',
      beforeAgent: (ctx) => ctx.with(keys.agent, 1),
      beforeModelRewriteHistory: (ctx, messages) => ({ messages, ctx: ctx.with(keys.before, 1) }),
      afterModelRewriteHistory: (ctx, messages) => ({ messages, ctx: ctx.with(keys.after, 1) }),
      wrapInvokableToolCall: (ctx, input, next) => next(ctx.with(wrapped, 1), input),
    }
    const reader: AgentHandler = {
      name: 'reader',
      beforeAgent: (ctx) => look('beforeAgent', ctx),
      beforeModelRewriteHistory: (ctx) => look('beforeModel', ctx),
      afterModelRewriteHistory: (ctx) => look('afterModel', ctx),
      wrapInvokableToolCall(ctx, input, next) {
        look('wrapTool', ctx)
        return next(ctx, input)
      },
      wrapModelCall(ctx, request, next) {
        look('wrapModel', ctx)
        return next(ctx, request)
      },
      afterAgent: (ctx) => look('afterAgent', ctx),
    }
    const t = tool('t', (_, ctx) => look('tool', ctx))
    await runAgent([calling('t'), 'Done.'], { tools: [t], handlers: [setter, reader] })
    expect(seen).toEqual({
      beforeAgent: 'agent',
      beforeModel: 'agent,before',
      wrapModel: 'agent,before',
      afterModel: 'agent,before,after',
      wrapTool: 'agent,before,after,wrapped',
      tool: 'agent,before,after,wrapped',
      afterAgent: 'agent,before,after',
    })
  })

  test('the with…Func helpers return the value or { value, ctx }', async () => {
    const key = contextKey<string>('k')
    const { requests } = await runAgent(['Done.'], {
      handlers: [
        withInstructionFunc((ctx) => ({ value: 'One.', ctx: ctx.with(key, 'from instruction') })),
        withToolsFunc((ctx, tools) => ({ value: tools, ctx: ctx.with(key, `${ctx.get(key)}, from tools`) })),
        withInstructionFunc((ctx, text) => `${text} ${ctx.get(key)}`),
      ],
    })
    expect(requests[0]?.instruction).toBe('One. from instruction, from tools')
  })

  test('of one run are not seen in another', async () => {
    const key = contextKey<string>('k')
    const seen: unknown[] = []
    const handlers = [
      withBeforeAgent((ctx) => {
        seen.push(ctx.get(key))
        return ctx.with(key, 'set')
      }),
    ]
    const agent = chatModelAgent({ name: 'a', model: scriptedModel(['One.', 'Two.']), handlers })
    await startRun(agent, hello)
    await startRun(agent, hello)
    expect(seen).toEqual([undefined, undefined])
  })
})

describe('3.3 BaseAgentHandler', () => {
  test('a class overrides the hooks it cares about and keeps its own state', async () => {
    class Counter extends BaseAgentHandler {
      calls = 0
      constructor() {
        super('counter')
      }
      override beforeModelRewriteHistory() {
        this.calls++
      }
    }
    const counter = new Counter()
    const wrapper = withInvokableToolWrapper((ctx, input, next) => next(ctx, input))
    const { end } = await runAgent([calling('t'), 'Done.'], { tools: [tool('t')], handlers: [counter, wrapper] })
    expect([counter.calls, end?.outcome]).toEqual([2, 'complete'])
  })
})
