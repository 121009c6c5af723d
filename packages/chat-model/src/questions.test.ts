import {
  type AgentHandler,
  type Interrupt,
  type Json,
  KernelError,
  type RunContext,
  type RunResult,
} from '@troupe/kernel'
import { runNested } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  brief,
  calling,
  conversation,
  type FinishedRun,
  noUnhandledRejection,
  type Options,
  runAgent,
  tool,
} from './chat-model.fixture.ts'
import { chatModelAgent } from './index.ts'

beforeEach(noUnhandledRejection)

const questions = ({ end }: FinishedRun): readonly Interrupt[] => end?.interrupts ?? []
/** Answers each open question with its message in capitals, or as the function says. */
const answered = (run: FinishedRun, how: (message: string) => Json = (message) => message.toUpperCase()) =>
  Object.fromEntries(questions(run).map(({ id, message = '' }) => [id, how(message)]))
/** The answers that were shown and taken back. */
const taken = ({ events }: FinishedRun) =>
  events.flatMap((event) => (event.type === 'message-end' && event.dropped ? [event.message.content] : []))
const ask = (ctx: RunContext, message: string) => ctx.interrupt<string>({ reason: 'input', message })

/** A handler whose hooks ask a question each and log the answers. */
const asking = (name: string, log: string[], ...hooks: readonly (keyof AgentHandler)[]): AgentHandler => {
  const note = async (ctx: RunContext, hook: string) =>
    void log.push(`${name} ${hook}: ${await ask(ctx, `${name} ${hook}`)}`)
  const all: AgentHandler = {
    name,
    beforeAgent: (ctx) => note(ctx, 'beforeAgent'),
    beforeModelRewriteHistory: (ctx) => note(ctx, 'before'),
    async *wrapModelCall(ctx, request, next) {
      await note(ctx, 'ahead')
      yield* next(ctx, request)
    },
    afterModelRewriteHistory: (ctx) => note(ctx, 'after'),
    async wrapInvokableToolCall(ctx, input, next) {
      await note(ctx, 'tool')
      return next(ctx, input)
    },
    afterAgent: (ctx) => note(ctx, 'afterAgent'),
  }
  return {
    name,
    ...Object.fromEntries(Object.entries(all).filter(([hook]) => hooks.includes(hook as keyof AgentHandler))),
  }
}

describe('a question is known by who asks and what is asked', () => {
  test('a handler that asked first and is silent now does not hand its answer to the next one', async () => {
    const log: string[] = []
    let silent = false
    const first: AgentHandler = {
      name: 'first',
      async beforeAgent(ctx) {
        if (!silent) log.push(`first: ${await ctx.interrupt({ reason: 'input' })}`)
      },
    }
    const second: AgentHandler = {
      name: 'second',
      async beforeAgent(ctx) {
        log.push(`second: ${await ctx.interrupt({ reason: 'input' })}`)
      },
    }
    const talk = conversation(['Hi.'], { handlers: [first, second] })
    const run = await talk.next()
    silent = true
    const next = await talk.next(answered(run, () => 'for the first'))
    expect([next.end?.outcome, log]).toEqual(['interrupted', []])
    await talk.next(answered(next, () => 'for the second'))
    expect(log).toEqual(['second: for the second'])
  })

  test('the same words of two handlers are two questions, in whatever order they run', async () => {
    const log: string[] = []
    const handler = (name: string): AgentHandler => ({
      name,
      async beforeAgent(ctx) {
        log.push(`${name}: ${await ctx.interrupt({ reason: 'input', message: 'Well?' })}`)
      },
    })
    const [a, b] = [handler('a'), handler('b')]
    const model = scriptedModel(['Hi.'])
    const first = await runAgent([], { model, handlers: [a, b] }, undefined, { canInterrupt: true })
    const reordered = await runAgent([], { model, handlers: [b, a] }, first.resume(answered(first, () => 'for a')), {
      canInterrupt: true,
    })
    expect([reordered.end?.outcome, log]).toEqual(['interrupted', []])
    const answers = answered(reordered, () => 'for b')
    const last = await runAgent([], { model, handlers: [b, a] }, reordered.resume(answers), { canInterrupt: true })
    expect([last.end?.outcome, log]).toEqual(['complete', ['b: for b', 'a: for a']])
  })

  test('an answer is void if the question has changed: another message, schema, metadata or key', async () => {
    for (const change of [
      { message: 'Other?' },
      { responseSchema: { type: 'number' } as const },
      { metadata: { amount: 5_000 } },
      { key: 'b' },
      { reason: 'other' },
    ]) {
      let changed = false
      const got: Json[] = []
      const pay = tool('pay', async (_, ctx) => {
        const request = { reason: 'input', message: 'Pay?', metadata: { amount: 5 }, key: 'a' }
        got.push(await ctx.interrupt({ ...request, ...(changed && change) }))
        return 'paid'
      })
      const talk = conversation([calling('pay'), 'Done.'], { tools: [pay] })
      const first = await talk.next()
      changed = true
      const second = await talk.next(answered(first))
      expect([second.end?.outcome, got], JSON.stringify(change)).toEqual(['interrupted', []])
      expect(questions(second)[0]?.id).not.toBe(questions(first)[0]?.id)
    }
  })

  test('the time at which it expires may differ', async () => {
    let expiresAt = 1
    const got: Json[] = []
    const pay = tool('pay', async (_, ctx) => {
      got.push(await ctx.interrupt({ reason: 'input', expiresAt: expiresAt++ }))
      return 'paid'
    })
    const talk = conversation([calling('pay'), 'Done.'], { tools: [pay] })
    await talk.next(answered(await talk.next(), () => 'yes'))
    expect(got).toEqual(['yes'])
  })

  test('equal questions of one call are asked one after the other, each with its own answer', async () => {
    const got: Json[] = []
    const pay = tool('pay', async (_, ctx) => {
      got.length = 0
      for (let i = 0; i < 3; i++) got.push(await ctx.interrupt({ reason: 'input', message: 'Once more?' }))
      return 'paid'
    })
    const talk = conversation([calling('pay'), 'Done.'], { tools: [pay] })
    let run = await talk.next()
    for (const answer of ['one', 'two', 'three']) run = await talk.next(answered(run, () => answer))
    expect([run.end?.outcome, got]).toEqual(['complete', ['one', 'two', 'three']])
  })

  test('with different keys, equal questions may come in another order', async () => {
    const got: string[] = []
    const keys = ['a', 'b']
    const pay = tool('pay', async (_, ctx) => {
      got.length = 0
      for (const key of keys)
        got.push(`${key} ${await ctx.interrupt<string>({ reason: 'input', message: 'Well?', key })}`)
      return 'paid'
    })
    const talk = conversation([calling('pay'), 'Done.'], { tools: [pay] })
    const first = await talk.next()
    keys.reverse()
    const second = await talk.next(answered(first, () => 'for a'))
    const third = await talk.next(answered(second, () => 'for b'))
    expect([third.end?.outcome, got]).toEqual(['complete', ['b for b', 'a for a']])
  })

  test('a wrap and the tool inside it, and the approval of the call, do not take each other’s answers', async () => {
    const got: string[] = []
    const request = { reason: 'input', message: 'Well?' }
    const pay = tool('pay', async (_, ctx) => {
      got.push(`tool ${await ctx.interrupt(request)}`)
      return 'paid'
    })
    let silent = false
    const wrap: AgentHandler = {
      name: 'wrap',
      async wrapInvokableToolCall(ctx, input, next) {
        if (!silent) got.push(`wrap ${await ctx.interrupt(request)}`)
        return next(ctx, input)
      },
    }
    const talk = conversation([calling('pay'), 'Done.'], { tools: [pay], handlers: [wrap] })
    const first = await talk.next()
    silent = true
    const second = await talk.next(answered(first, () => 'for the wrap'))
    await talk.next(answered(second, () => 'for the tool'))
    expect(got).toEqual(['tool for the tool'])
  })
})

describe('a question in a hook resumes where it stood', () => {
  const paid = (talk: { model: { requests: readonly unknown[] } }) => talk.model.requests.length

  const places: readonly [keyof AgentHandler, number][] = [
    ['beforeAgent', 1],
    ['beforeModelRewriteHistory', 3],
    ['wrapModelCall', 3],
    ['afterModelRewriteHistory', 3],
    ['wrapInvokableToolCall', 2],
    ['afterAgent', 1],
  ]

  test.each(places)('%s: each question is asked once, and no model call is made twice', async (hook, times) => {
    const log: string[] = []
    const talk = conversation([calling('pay'), calling('pay'), 'Done.'], {
      tools: [tool('pay')],
      handlers: [asking('h', log, hook)],
    })
    let run = await talk.next()
    let asked = 0
    const ids = new Set<string>()
    while (run.end?.outcome === 'interrupted') {
      asked += questions(run).length
      for (const { id } of questions(run)) ids.add(id)
      run = await talk.next(answered(run))
      if (asked > 20) expect.fail('asks for ever')
    }
    expect([run.end?.outcome, run.end?.text, asked, ids.size]).toEqual(['complete', 'Done.', times, times])
    expect(paid(talk)).toBe(3)
    expect(brief(run.history)).toEqual([
      'user Hello',
      'assistant pay',
      'tool pay done',
      'assistant pay',
      'tool pay done',
      'assistant Done.',
    ])
  })

  test('all of them together, in two handlers: every answer reaches its question, and is never asked for again', async () => {
    const log: string[] = []
    const hooks = places.map(([hook]) => hook)
    const talk = conversation([calling('pay'), 'Done.'], {
      tools: [tool('pay')],
      handlers: [asking('a', log, ...hooks), asking('b', log, ...hooks)],
    })
    let run = await talk.next()
    const seen: string[] = []
    while (run.end?.outcome === 'interrupted') {
      seen.push(...questions(run).map(({ id }) => id))
      run = await talk.next(answered(run))
      if (seen.length > 60) expect.fail('asks for ever')
    }
    expect([run.end?.outcome, paid(talk), new Set(seen).size]).toEqual(['complete', 2, seen.length])
    for (const line of log) {
      const [asked, got] = line.split(': ')
      expect(got).toBe(asked?.toUpperCase())
    }
  })

  test('the answer of the model that a person approved is the one that is used', async () => {
    const shown: Json[] = []
    const approve: AgentHandler = {
      name: 'approve',
      async afterModelRewriteHistory(ctx, messages) {
        const said = messages.at(-1)?.content as string
        shown.push(said)
        await ctx.interrupt({ reason: 'approval', metadata: { said } })
      },
    }
    const talk = conversation(['The first answer.', 'Another answer.'], { handlers: [approve] })
    const first = await talk.next()
    expect(taken(first)).toEqual(['The first answer.'])
    const second = await talk.next(answered(first, () => ({ approved: true })))
    expect([second.end?.text, shown, paid(talk)]).toEqual([
      'The first answer.',
      ['The first answer.', 'The first answer.'],
      1,
    ])
    expect([first.end?.usage, second.end?.usage]).toEqual([first.end?.usage, { inputTokens: 0, outputTokens: 0 }])
    expect(first.end?.usage.outputTokens).toBeGreaterThan(0)
  })

  test('calls of an answer that was approved keep their ids, and run once', async () => {
    const ran: string[] = []
    const approve: AgentHandler = {
      name: 'approve',
      async afterModelRewriteHistory(ctx, messages) {
        const last = messages.at(-1)
        if (last?.role === 'assistant' && last.toolCalls) await ctx.interrupt({ reason: 'approval' })
      },
    }
    const pay = tool('pay', (_, __, { callId }) => {
      ran.push(callId)
      return 'paid'
    })
    const talk = conversation([calling('pay'), 'Done.'], { tools: [pay], handlers: [approve] })
    const first = await talk.next()
    const second = await talk.next(answered(first, () => true))
    expect([second.end?.outcome, ran, paid(talk)]).toEqual(['complete', ['pay'], 2])
  })

  test('a wrap that looks at the whole answer and asks gets the same answer again, and its tokens count once', async () => {
    const seen: string[] = []
    const judge: AgentHandler = {
      name: 'judge',
      async *wrapModelCall(ctx, request, next) {
        const parts = []
        for await (const part of next(ctx, request)) parts.push(part)
        const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('')
        seen.push(text)
        await ask(ctx, `Say "${text}"?`)
        yield* parts
      },
    }
    const talk = conversation(['One.', 'Two.'], { handlers: [judge] })
    const first = await talk.next()
    const second = await talk.next(answered(first))
    expect([second.end?.text, seen, paid(talk)]).toEqual(['One.', ['One.', 'One.'], 1])
    expect(first.end?.usage.outputTokens).toBeGreaterThan(0)
    expect(second.end?.usage).toEqual({ inputTokens: 0, outputTokens: 0 })
  })

  test('a wrap may ask the model once more after the answer: only that call is new', async () => {
    const again: AgentHandler = {
      name: 'again',
      async *wrapModelCall(ctx, request, next) {
        let text = ''
        for await (const part of next(ctx, request)) text += part.type === 'text-delta' ? part.delta : ''
        await ask(ctx, `Better than "${text}"?`)
        yield* next(ctx, request)
      },
    }
    const talk = conversation(['One.', 'Two.'], { handlers: [again] })
    const second = await talk.next(answered(await talk.next()))
    expect([second.end?.text, paid(talk)]).toEqual(['Two.', 2])
  })

  test('what a wrap has shown before it asks is taken back', async () => {
    const late: AgentHandler = {
      name: 'late',
      async *wrapModelCall(ctx, request, next) {
        yield* next(ctx, request)
        await ask(ctx, 'Was that right?')
      },
    }
    const talk = conversation(['One.'], { handlers: [late] })
    const first = await talk.next()
    expect(first.history).toHaveLength(1)
    expect(taken(first)).toEqual(['One.'])
    const second = await talk.next(answered(first))
    expect([second.end?.text, paid(talk)]).toEqual(['One.', 1])
  })

  test('a question cannot be swallowed by a hook', async () => {
    for (const make of [() => undefined, () => Promise.reject(new Error('other'))]) {
      for (const [hook] of places.slice(1, 2)) {
        const log: string[] = []
        const h: AgentHandler = {
          name: 'h',
          [hook]: (ctx: RunContext) => ask(ctx, 'Well?').then((text) => void log.push(text), make),
        }
        const talk = conversation(['Done.'], { handlers: [h] })
        const first = await talk.next()
        expect([first.end?.outcome, paid(talk)]).toEqual(['interrupted', 0])
        const second = await talk.next(answered(first))
        expect([second.end?.outcome, log]).toEqual(['complete', ['WELL?']])
      }
    }
  })

  test('a hook that asks while calls wait lets them wait', async () => {
    const log: string[] = []
    let asks = false
    const h: AgentHandler = {
      name: 'h',
      async beforeAgent(ctx) {
        if (asks) log.push(await ask(ctx, 'Really?'))
      },
    }
    const pay = tool('pay', async (_, ctx) => `paid ${await ask(ctx, 'Pay?')}`)
    const talk = conversation([calling('pay'), 'Done.'], { tools: [pay], handlers: [h] })
    const first = await talk.next()
    asks = true
    const second = await talk.next(answered(first))
    expect(questions(second).map(({ message }) => message)).toEqual(['Really?'])
    const third = await talk.next(answered(second))
    expect([third.toolEnds.map(({ content }) => content), log, paid(talk)]).toEqual([['paid PAY?'], ['REALLY?'], 2])
  })

  test('counts go on: maxIterations holds for the run with all its questions', async () => {
    const pay = tool('pay', async (_, ctx) => `paid ${await ask(ctx, 'Pay?')}`)
    const turns = Array.from({ length: 5 }, () => calling('pay'))
    const talk = conversation(turns, { tools: [pay], maxIterations: 3 })
    let run = await talk.next()
    for (let i = 0; i < 5 && run.end?.outcome === 'interrupted'; i++) run = await talk.next(answered(run))
    expect([run.end?.error?.code, paid(talk)]).toEqual(['MAX_ITERATIONS', 3])
  })

  test.each<keyof AgentHandler>(['beforeModelRewriteHistory', 'wrapModelCall', 'afterModelRewriteHistory'])(
    'a turn in which %s asks counts once',
    async (hook) => {
      const log: string[] = []
      const options: Options = { tools: [tool('pay')], handlers: [asking('h', log, hook)], maxIterations: 2 }
      const talk = conversation([calling('pay'), 'Done.'], options)
      let run = await talk.next()
      while (run.end?.outcome === 'interrupted') run = await talk.next(answered(run))
      expect([run.end?.outcome, run.end?.text]).toEqual(['complete', 'Done.'])
    },
  )

  test('corrections of the output are counted over questions', async () => {
    const asks = asking('h', [], 'afterModelRewriteHistory')
    const talk = conversation(['no', 'no', 'no'], {
      handlers: [asks],
      output: { type: 'object' },
      outputCorrections: 1,
    })
    let run = await talk.next()
    for (let i = 0; i < 5 && run.end?.outcome === 'interrupted'; i++) run = await talk.next(answered(run))
    expect([run.end?.error?.code, paid(talk)]).toEqual(['VALIDATION_FAILED', 2])
  })

  test('a question of an agent inside a call, in its hook, does not make its model answer twice', async () => {
    const log: string[] = []
    const model = scriptedModel(['Inner.'])
    const inner = chatModelAgent({
      name: 'inner',
      model,
      handlers: [asking('h', log, 'afterModelRewriteHistory', 'afterAgent')],
    })
    const run = tool('run', async (_, ctx) => (await runNested(inner, 'Hi', ctx)).text, { effect: 'nested' })
    const talk = conversation([calling('run'), 'Done.'], { tools: [run] })
    let next = await talk.next()
    while (next.end?.outcome === 'interrupted') next = await talk.next(answered(next))
    expect([next.end?.text, next.toolEnds.map(({ content }) => content), model.requests.length, paid(talk)]).toEqual([
      'Done.',
      ['Inner.'],
      1,
      2,
    ])
  })
})

describe('afterAgent gets the result that run-end shows', () => {
  const watching = (results: RunResult[], more?: (ctx: RunContext) => Promise<void>): AgentHandler => ({
    name: 'watching',
    async afterAgent(ctx, result) {
      results.push(result)
      await more?.(ctx)
    },
  })
  const shown = ({ end }: FinishedRun) => {
    const { outcome, text, output, error, interrupts, openCallIds, usage } = end as unknown as RunResult
    return JSON.parse(JSON.stringify({ outcome, text, output, error, interrupts, openCallIds, usage }))
  }
  const got = (result: RunResult | undefined) => JSON.parse(JSON.stringify({ ...result, messages: undefined }))
  const exit = tool('leave', (_, ctx) => {
    ctx.sendAction({ type: 'exit', result: { left: true } })
    return 'left'
  })

  const rows: readonly [string, readonly never[] | unknown[], Options][] = [
    ['an answer', ['Hi.'], {}],
    ['an exit', [calling('leave')], { tools: [exit] }],
    ['a direct result', [calling('pay')], { tools: [{ tool: tool('pay'), returnDirectly: true }] as never }],
    ['structured output', ['{"a":1}'], { output: { type: 'object' } }],
    ['a failure', [{ error: { at: 'before', error: new KernelError('MODEL_FAILED', 'down') } }], { retry: false }],
    ['an open call', [calling('later')], { tools: [tool('later', undefined, { longRunning: true })] }],
    ['a question of a call', [calling('ask')], { tools: [tool('ask', async (_, ctx) => ask(ctx, 'Well?'))] }],
    ['a question of a hook', ['Hi.'], { handlers: [asking('h', [], 'beforeModelRewriteHistory')] }],
  ]

  test.each(rows)('%s', async (_, turns, options) => {
    const results: RunResult[] = []
    const handlers = [watching(results), ...(options.handlers ?? [])]
    const run = await runAgent(turns as never, { ...options, handlers }, undefined, { canInterrupt: true })
    expect(results).toHaveLength(1)
    expect(got(results[0])).toEqual(shown(run))
  })

  test('a cancel is one only if somebody wanted it', async () => {
    const results: RunResult[] = []
    const run = await runAgent([{ error: { at: 'before', error: new KernelError('ABORTED', 'by itself') } }], {
      handlers: [watching(results)],
      retry: false,
    })
    expect(got(results[0])).toEqual(shown(run))
    expect(results[0]?.outcome).toBe('failed')
  })

  test.each([
    ['an answer', ['Hi.'], {}],
    ['an exit', [calling('leave')], { tools: [exit] }],
    ['structured output', ['{"a":1}'], { output: { type: 'object' } as const }],
  ])('and again after its own question: %s', async (_, turns, options) => {
    const results: RunResult[] = []
    const handlers = [watching(results, async (ctx) => void (await ask(ctx, 'Publish?')))]
    const talk = conversation(turns as never, { ...options, handlers } as Options)
    const first = await talk.next()
    expect(first.end?.outcome).toBe('interrupted')
    const second = await talk.next(answered(first))
    expect([second.end?.outcome, talk.model.requests.length]).toEqual(['complete', 1])
    const { text, output } = results[0] as RunResult
    expect(results[1]).toMatchObject({ text, ...(output !== undefined && { output }) })
    expect(got(results[1])).toEqual(shown(second))
  })
})
