import { setSubAgents } from '@troupe/flow'
import type { AgentHandler, RunContext } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { LAYOUTS, workerIn } from './layouts.fixture.ts'
import { brief, calling, scriptedTree, toAgent } from './scripted-tree.fixture.ts'
import { guarded, plain, tool } from './tools.fixture.ts'

const layouts = Object.keys(LAYOUTS)
const unnested = layouts.filter((layout) => layout !== 'a tool')

describe('two questions in one tool', () => {
  const curious = tool('curious', {
    async invoke(_, ctx) {
      const name = await ctx.interrupt({ reason: 'input', message: 'Name?' })
      const age = await ctx.interrupt({ reason: 'input', message: 'Age?' })
      return `${name} ${age}`
    },
  })

  test.each(layouts)('%s: one after the other, each process gets the first answer again', async (layout) => {
    const { tree } = workerIn(layout, [calling('curious'), 'Worked.'], { tools: [curious] })
    expect((await tree.ask('Go')).interrupts).toMatchObject([{ message: 'Name?' }])
    await tree.move()
    expect((await tree.answerAll('Ann')).interrupts).toMatchObject([{ message: 'Age?' }])
    await tree.move()
    expect((await tree.answerAll(7)).outcome).toBe('complete')
    expect(brief(tree.models.Worker.requests[1]?.messages).at(-1)).toBe('tool curious: Ann 7')
  })

  test('approved first, it asks then; the approval is not asked again', async () => {
    const allowed = { ...curious, needsApproval: () => true }
    const { tree } = workerIn('a transfer target', [calling('curious'), 'Worked.'], { tools: [allowed] })
    expect((await tree.ask('Go')).interrupts).toMatchObject([{ reason: 'approval' }])
    await tree.move()
    const second = await tree.answerAll({ approved: true })
    expect([second.started, second.interrupts.map(({ message }) => message)]).toEqual([['curious'], ['Name?']])
    await tree.move()
    expect((await tree.answerAll('Ann')).interrupts).toMatchObject([{ message: 'Age?' }])
    expect((await tree.answerAll(7)).text).toBe('Worked.')
    expect(brief(tree.models.Worker.requests[1]?.messages).at(-1)).toBe('tool curious: Ann 7')
  })
})

/** A handler that asks in a hook, each time or only the given number of times. */
const asking = (hook: 'beforeAgent' | 'beforeModelRewriteHistory' | 'afterModelRewriteHistory', log: unknown[]) => {
  const ask = async (ctx: RunContext) => void log.push(await ctx.interrupt({ reason: 'input', message: hook }))
  return { name: 'asking', [hook]: ask } as AgentHandler
}

describe('a question of a handler', () => {
  const askTwice = async (layout: string) => {
    const log: unknown[] = []
    const handlers = [asking('beforeAgent', log), { ...asking('beforeAgent', log), name: 'asking too' }]
    const { tree, last } = workerIn(layout, ['Worked.'], { handlers })
    expect((await tree.ask('Go')).outcome).toBe('interrupted')
    await tree.move()
    expect((await tree.answerAll('one')).outcome).toBe('interrupted')
    await tree.move()
    expect((await tree.answerAll('two')).text).toBe(last ?? 'Worked.')
    expect(log.slice(-2)).toEqual(['one', 'two'])
  }

  test.each(layouts)('%s: beforeAgent asks before the model is called', async (layout) => {
    const log: unknown[] = []
    const { tree, last } = workerIn(layout, ['Worked.'], { handlers: [asking('beforeAgent', log)] })
    const first = await tree.ask('Go')
    expect(first.interrupts).toMatchObject([{ message: 'beforeAgent', agentName: 'Worker' }])
    expect(tree.models.Worker.requests).toEqual([])
    await tree.move()
    expect((await tree.answerAll('yes')).text).toBe(last ?? 'Worked.')
    expect([log, tree.models.Worker.requests.length]).toEqual([['yes'], 1])
  })

  test.each(unnested)('%s: a hook that asks twice is answered twice', async (layout) => {
    await askTwice(layout)
  })

  test('a tool: a hook that asks twice is answered twice', () => askTwice('a tool'))

  test('beforeModelRewriteHistory asks before each model call: each question once, never answered by an old answer', async () => {
    const log: unknown[] = []
    const { tree } = workerIn('the root', [calling('plain'), 'Worked.'], {
      tools: [plain([])],
      handlers: [asking('beforeModelRewriteHistory', log)],
    })
    const first = await tree.ask('Go')
    await tree.move()
    const second = await tree.answerAll('one')
    expect([second.outcome, second.started]).toEqual(['interrupted', ['plain']])
    expect(second.interrupts[0]?.id).not.toBe(first.interrupts[0]?.id)
    await tree.move()
    expect((await tree.answerAll('two')).text).toBe('Worked.')
    expect([log, tree.models.Worker.requests.length]).toEqual([['one', 'two'], 2])
  })

  test('afterModelRewriteHistory asks about an answer: it is kept, and the model is not asked again', async () => {
    const log: unknown[] = []
    const { tree } = workerIn('the root', ['Worked.', 'Again.'], {
      handlers: [asking('afterModelRewriteHistory', log)],
    })
    expect((await tree.ask('Go')).outcome).toBe('interrupted')
    await tree.move()
    const second = await tree.answerAll('fine')
    expect([second.text, brief(await tree.history())]).toEqual(['Worked.', ['user Go', 'assistant Worked.']])
    expect([log, tree.models.Worker.requests.length]).toEqual([['fine'], 1])
  })

  test.each(layouts)('%s: a wrap of the model call asks before the model is called', async (layout) => {
    const gate: AgentHandler = {
      name: 'gate',
      async *wrapModelCall(ctx, request, next) {
        if ((await ctx.interrupt({ reason: 'input', message: 'May I?' })) === 'yes') yield* next(ctx, request)
      },
    }
    const { tree, last } = workerIn(layout, ['Worked.'], { handlers: [gate] })
    expect((await tree.ask('Go')).interrupts).toMatchObject([{ message: 'May I?' }])
    expect(tree.models.Worker.requests).toEqual([])
    await tree.move()
    expect((await tree.answerAll('yes')).text).toBe(last ?? 'Worked.')
  })

  test.each(layouts)('%s: a wrap asks like the tool it wraps', async (layout) => {
    const log: string[] = []
    const gate: AgentHandler = {
      name: 'gate',
      async wrapInvokableToolCall(ctx, input, next) {
        const word = await ctx.interrupt({ reason: 'input', message: `May ${input.name}?` })
        return word === 'yes' ? next(ctx, input) : { content: `No: ${word}` }
      },
    }
    const calls = calling('plain', { id: 'p2', name: 'plain' })
    const { tree } = workerIn(layout, [calls, 'Worked.'], { tools: [plain(log)], handlers: [gate] })
    const [one = '', two = ''] = (await tree.ask('Go')).interrupts.map(({ id }) => id)
    await tree.move()
    expect((await tree.answer({ [one]: 'yes' })).interrupts.map(({ id }) => id)).toEqual([two])
    await tree.move()
    expect((await tree.answer({ [two]: 'never' })).outcome).toBe('complete')
    expect([log, brief(tree.models.Worker.requests[1]?.messages).slice(-2)]).toEqual([
      ['plain'],
      ['tool plain: plain ran', 'tool plain: No: never'],
    ])
  })

  test.each(unnested)(
    '%s: beforeAgent has asked, then a tool asks: the call runs once it is allowed',
    async (layout) => {
      const log: string[] = []
      const { tree, last } = workerIn(layout, [calling('guarded'), 'Worked.'], {
        tools: [guarded(log)],
        handlers: [asking('beforeAgent', [])],
      })
      await tree.ask('Go')
      await tree.move()
      expect((await tree.answerAll('Ann')).interrupts).toMatchObject([{ reason: 'approval' }])
      await tree.move()
      // It may ask again because it runs again, but the approval must not be lost.
      let recorded = await tree.answerAll({ approved: true })
      if (recorded.outcome === 'interrupted') recorded = await tree.answerAll('Ann')
      expect([recorded.outcome, recorded.text, log]).toEqual(['complete', last ?? 'Worked.', ['guarded {}']])
    },
  )

  test('in a router and in its transfer target: one question at a time, each once', async () => {
    const [one, two] = [[], []] as [unknown[], unknown[]]
    const tree = scriptedTree(
      { Router: [toAgent('A')], A: ['I am A.'] },
      ({ Router, A }) => setSubAgents(Router, [A]),
      {
        with: { Router: { handlers: [asking('beforeAgent', one)] }, A: { handlers: [asking('beforeAgent', two)] } },
      },
    )
    expect((await tree.ask('Hi')).interrupts).toMatchObject([{ agentName: 'Router' }])
    await tree.move()
    expect((await tree.answerAll('r')).interrupts).toMatchObject([{ agentName: 'A' }])
    await tree.move()
    expect((await tree.answerAll('a')).text).toBe('I am A.')
    expect([one, two]).toEqual([['r'], ['a']])
  })
})
