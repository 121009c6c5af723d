import { setSubAgents } from '@troupe/flow'
import type { AgentHandler, RunContext } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { at, PLACES } from './places.fixture.ts'
import { brief, calling, theatre, toAgent } from './theatre.fixture.ts'
import { guarded, plain, tool } from './tools.fixture.ts'

const places = Object.keys(PLACES)
const unnested = places.filter((place) => place !== 'a tool')

describe('two questions in one tool', () => {
  const curious = tool('curious', {
    async invoke(_, ctx) {
      const name = await ctx.interrupt({ reason: 'input', message: 'Name?' })
      const age = await ctx.interrupt({ reason: 'input', message: 'Age?' })
      return `${name} ${age}`
    },
  })

  test.each(places)('%s: one after the other, each process hears the first answer again', async (place) => {
    const { stage } = at(place, [calling('curious'), 'Worked.'], { tools: [curious] })
    expect((await stage.ask('Go')).interrupts).toMatchObject([{ message: 'Name?' }])
    await stage.move()
    expect((await stage.answerAll('Ann')).interrupts).toMatchObject([{ message: 'Age?' }])
    await stage.move()
    expect((await stage.answerAll(7)).outcome).toBe('complete')
    expect(brief(stage.models.Worker.requests[1]?.messages).at(-1)).toBe('tool curious: Ann 7')
  })

  test('approved first, it asks then; the approval is not asked again', async () => {
    const allowed = { ...curious, needsApproval: () => true }
    const { stage } = at('a transfer target', [calling('curious'), 'Worked.'], { tools: [allowed] })
    expect((await stage.ask('Go')).interrupts).toMatchObject([{ reason: 'approval' }])
    await stage.move()
    const second = await stage.answerAll({ approved: true })
    expect([second.started, second.interrupts.map(({ message }) => message)]).toEqual([['curious'], ['Name?']])
    await stage.move()
    expect((await stage.answerAll('Ann')).interrupts).toMatchObject([{ message: 'Age?' }])
    expect((await stage.answerAll(7)).text).toBe('Worked.')
    expect(brief(stage.models.Worker.requests[1]?.messages).at(-1)).toBe('tool curious: Ann 7')
  })
})

/** A handler that asks in a hook, each time it is called or only as often as said. */
const asking = (hook: 'beforeAgent' | 'beforeModelRewriteHistory' | 'afterModelRewriteHistory', log: unknown[]) => {
  const ask = async (ctx: RunContext) => void log.push(await ctx.interrupt({ reason: 'input', message: hook }))
  return { name: 'asking', [hook]: ask } as AgentHandler
}

describe('a question of a handler', () => {
  const askTwice = async (place: string) => {
    const log: unknown[] = []
    const handlers = [asking('beforeAgent', log), { ...asking('beforeAgent', log), name: 'asking too' }]
    const { stage, last } = at(place, ['Worked.'], { handlers })
    expect((await stage.ask('Go')).outcome).toBe('interrupted')
    await stage.move()
    expect((await stage.answerAll('one')).outcome).toBe('interrupted')
    await stage.move()
    expect((await stage.answerAll('two')).text).toBe(last ?? 'Worked.')
    expect(log.slice(-2)).toEqual(['one', 'two'])
  }

  test.each(places)('%s: beforeAgent asks before the model is called', async (place) => {
    const log: unknown[] = []
    const { stage, last } = at(place, ['Worked.'], { handlers: [asking('beforeAgent', log)] })
    const first = await stage.ask('Go')
    expect(first.interrupts).toMatchObject([{ message: 'beforeAgent', agentName: 'Worker' }])
    expect(stage.models.Worker.requests).toEqual([])
    await stage.move()
    expect((await stage.answerAll('yes')).text).toBe(last ?? 'Worked.')
    expect([log, stage.models.Worker.requests.length]).toEqual([['yes'], 1])
  })

  test.each(unnested)('%s: a hook that asks twice is answered twice', async (place) => {
    await askTwice(place)
  })

  test('a tool: a hook that asks twice is answered twice', () => askTwice('a tool'))

  test('beforeModelRewriteHistory asks before each model call: asked anew after words were said, never answered by an old answer', async () => {
    const log: unknown[] = []
    const { stage } = at('the root', [calling('plain'), 'Worked.'], {
      tools: [plain([])],
      handlers: [asking('beforeModelRewriteHistory', log)],
    })
    await stage.ask('Go')
    await stage.move()
    expect((await stage.answerAll('one')).outcome).toBe('interrupted')
    await stage.move()
    expect((await stage.answerAll('two')).outcome).toBe('interrupted')
    expect((await stage.answerAll('two, as I said')).text).toBe('Worked.')
    expect(log).toEqual(['one', 'two, as I said'])
  })

  test('afterModelRewriteHistory asks about an answer: it is taken back, and the model is asked again', async () => {
    const log: unknown[] = []
    const { stage } = at('the root', ['Draft.', 'Worked.'], { handlers: [asking('afterModelRewriteHistory', log)] })
    expect((await stage.ask('Go')).outcome).toBe('interrupted')
    await stage.move()
    const second = await stage.answerAll('fine')
    expect([second.text, brief(await stage.history())]).toEqual(['Worked.', ['user Go', 'assistant Worked.']])
  })

  test.each(places)('%s: a wrap of the model call asks before the model is called', async (place) => {
    const gate: AgentHandler = {
      name: 'gate',
      async *wrapModelCall(ctx, request, next) {
        if ((await ctx.interrupt({ reason: 'input', message: 'May I?' })) === 'yes') yield* next(ctx, request)
      },
    }
    const { stage, last } = at(place, ['Worked.'], { handlers: [gate] })
    expect((await stage.ask('Go')).interrupts).toMatchObject([{ message: 'May I?' }])
    expect(stage.models.Worker.requests).toEqual([])
    await stage.move()
    expect((await stage.answerAll('yes')).text).toBe(last ?? 'Worked.')
  })

  test.each(places)('%s: a wrap asks like the tool it wraps', async (place) => {
    const log: string[] = []
    const gate: AgentHandler = {
      name: 'gate',
      async wrapInvokableToolCall(ctx, input, next) {
        const word = await ctx.interrupt({ reason: 'input', message: `May ${input.name}?` })
        return word === 'yes' ? next(ctx, input) : { content: `No: ${word}` }
      },
    }
    const calls = calling('plain', { id: 'p2', name: 'plain' })
    const { stage } = at(place, [calls, 'Worked.'], { tools: [plain(log)], handlers: [gate] })
    const [one = '', two = ''] = (await stage.ask('Go')).interrupts.map(({ id }) => id)
    await stage.move()
    expect((await stage.answer({ [one]: 'yes' })).interrupts.map(({ id }) => id)).toEqual([two])
    await stage.move()
    expect((await stage.answer({ [two]: 'never' })).outcome).toBe('complete')
    expect([log, brief(stage.models.Worker.requests[1]?.messages).slice(-2)]).toEqual([
      ['plain'],
      ['tool plain: plain ran', 'tool plain: No: never'],
    ])
  })

  test.each(unnested)(
    '%s: beforeAgent has asked, then a tool asks: the call runs once it is allowed',
    async (place) => {
      const log: string[] = []
      const { stage, last } = at(place, [calling('guarded'), 'Worked.'], {
        tools: [guarded(log)],
        handlers: [asking('beforeAgent', [])],
      })
      await stage.ask('Go')
      await stage.move()
      expect((await stage.answerAll('Ann')).interrupts).toMatchObject([{ reason: 'approval' }])
      await stage.move()
      // It may ask again, since it runs again, but the approval must not get lost.
      let act = await stage.answerAll({ approved: true })
      if (act.outcome === 'interrupted') act = await stage.answerAll('Ann')
      expect([act.outcome, act.text, log]).toEqual(['complete', last ?? 'Worked.', ['guarded {}']])
    },
  )

  test('in a router and in the agent it hands over to: one question at a time, each once', async () => {
    const [one, two] = [[], []] as [unknown[], unknown[]]
    const stage = theatre({ Router: [toAgent('A')], A: ['I am A.'] }, ({ Router, A }) => setSubAgents(Router, [A]), {
      with: { Router: { handlers: [asking('beforeAgent', one)] }, A: { handlers: [asking('beforeAgent', two)] } },
    })
    expect((await stage.ask('Hi')).interrupts).toMatchObject([{ agentName: 'Router' }])
    await stage.move()
    expect((await stage.answerAll('r')).interrupts).toMatchObject([{ agentName: 'A' }])
    await stage.move()
    expect((await stage.answerAll('a')).text).toBe('I am A.')
    expect([one, two]).toEqual([['r'], ['a']])
  })
})
