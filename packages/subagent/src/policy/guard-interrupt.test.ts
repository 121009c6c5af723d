import { type Json, say, type Tool } from '@troupe/kernel'
import { runNested } from '@troupe/kernel/run'
import { beforeEach, describe, expect, test } from 'vitest'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { createBus } from './create-bus.ts'
import { callOf, codeOf, noting, noUnhandledRejection } from './policy.fixture.ts'
import { createPolicy } from './policy.ts'

beforeEach(noUnhandledRejection)

const A = { path: ['a'] }
const silent = createPolicy()

describe('ask without a live listener', () => {
  test('becomes an interrupt that looks like that of a tool which needs approval', async () => {
    const log: unknown[] = []
    const tool = silent.guard(noting('save', log, { displayName: 'Save' }), A)
    const { interrupts, error } = await callOf({ args: { n: 1 } }).attempt(tool)
    expect(interrupts).toEqual([
      {
        id: expect.stringMatching(/^c1\/#/),
        reason: 'approval',
        agentName: 'caller',
        callId: 'c1',
        message: 'Allow Save?',
        metadata: { tool: 'save', arguments: '{"n":1}' },
        responseSchema: {
          type: 'object',
          properties: { approved: { type: 'boolean' }, arguments: { type: 'string' }, message: { type: 'string' } },
          required: ['approved'],
        },
      },
    ])
    expect([error?.code, log]).toEqual(['INTERRUPTED', []])
  })

  test('adds only the question itself to the stream', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['save'] })],
      tools: [noting('save', [])],
      guard: silent.guard,
      scripts: { lead: [calling('a'), 'Done.'], a: [calling({ name: 'save' }), completing()] },
    })
    const first = await s.run()
    const { events } = await s.resume({ [first.asked[0] ?? '']: { approved: true } })
    const agents = new Set([...first.events, ...events].map(({ agentName }) => agentName))
    expect([...agents].toSorted()).toEqual(['a', 'lead'])
    expect(first.end?.interrupts).toMatchObject([{ agentName: 'a', reason: 'approval' }])
  })

  test('says the reason of the rule', async () => {
    const rules = [{ effect: 'ask', reason: 'It costs money.' }] as const
    const { interrupts } = await callOf().attempt(createPolicy({ rules }).guard(noting('buy', []), A))
    expect(interrupts[0]?.message).toBe('Allow buy? It costs money.')
  })

  test('approved: runs once, with the arguments that were asked about', async () => {
    const log: unknown[] = []
    const tool = silent.guard(noting('save', log), A)
    const call = callOf({ args: { n: 1 } })
    await call.attempt(tool)
    const { result, interrupts } = await call.attempt(tool, { c1: { approved: true } })
    expect([result, interrupts, log]).toEqual([{ content: 'save done' }, [], [{ n: 1 }]])
  })

  test('refused: the model reads why, as from a tool which needs approval', async () => {
    const log: unknown[] = []
    const tool = silent.guard(noting('save', log), A)
    for (const [message, content] of [
      ['Too dear.', 'Too dear.'],
      [undefined, 'The user refused this call.'],
    ]) {
      const call = callOf()
      await call.attempt(tool)
      const { result } = await call.attempt(tool, { c1: { approved: false, ...(message && { message }) } })
      expect(result).toEqual({ content, error: { code: 'TOOL_REFUSED', message: content } })
    }
    expect(log).toEqual([])
  })

  const nonsense: readonly Json[] = [true, 'yes', 1, {}, { approved: 'yes' }, { approved: 1 }, null, [], [true]]
  test.each(nonsense.map((answer) => [JSON.stringify(answer), answer] as const))(
    'an invalid answer (%s) does not run the tool',
    async (_, answer) => {
      const log: unknown[] = []
      const tool = silent.guard(noting('save', log), A)
      const call = callOf()
      await call.attempt(tool)
      expect(codeOf(await call.attempt(tool, { c1: answer }))).toBe('TOOL_REFUSED')
      expect(log).toEqual([])
    },
  )

  test('unanswered on resume: the same question again', async () => {
    const tool = silent.guard(noting('save', []), A)
    const call = callOf()
    const first = await call.attempt(tool)
    expect((await call.attempt(tool)).interrupts).toEqual(first.interrupts)
  })

  test('it is denied if the run cannot wait for an answer', async () => {
    const log: unknown[] = []
    const attempt = await callOf({ canInterrupt: false }).attempt(silent.guard(noting('save', log), A))
    expect([codeOf(attempt), attempt.result?.content, log]).toEqual([
      'POLICY_DENIED',
      'Error: tool save: policy does not allow this call, it needs approval and there is no one to ask. Go on without this call.',
      [],
    ])
  })
})

describe('edited arguments', () => {
  const parameters = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
  const asked = async (text: string, rules: Parameters<typeof createPolicy>[0] = {}, more: Partial<Tool> = {}) => {
    const log: unknown[] = []
    const invoke: Tool['invoke'] = (args, _, { arguments: seen }) => void log.push(args, seen)
    const tool = createPolicy(rules).guard(noting('save', log, { parameters, invoke, ...more }), A)
    const call = callOf({ args: { n: 1 } })
    await call.attempt(tool)
    return { log, ...(await call.attempt(tool, { c1: { approved: true, arguments: text } })) }
  }

  test('reach the tool, as value and as text', async () => {
    expect((await asked('{"n":2}')).log).toEqual([{ n: 2 }, '{"n":2}'])
  })

  test.each(['{"n"', '{"n":"x"}', '{}'])('that are not valid (%s) are an answer, not a run', async (text) => {
    for (const onError of ['feedback', 'throw'] as const) {
      const { log, result } = await asked(text, {}, { onError })
      expect([log, result?.error?.code]).toEqual([[], 'VALIDATION_FAILED'])
    }
  })

  test('that a rule denies are denied, also if a person wrote them', async () => {
    const { log, result } = await asked('{"n":2}', { rules: [{ effect: 'deny', args: { n: { equals: 2 } } }] })
    expect([log, result?.error?.code]).toEqual([[], 'POLICY_DENIED'])
  })
})

describe('a call that runs again', () => {
  test('is decided by the rules of now: a deny wins over an approval', async () => {
    const log: unknown[] = []
    const call = callOf()
    await call.attempt(silent.guard(noting('save', log), A))
    const stricter = createPolicy({ rules: [{ effect: 'deny', tool: 'save' }] }).guard(noting('save', log), A)
    expect(codeOf(await call.attempt(stricter, { c1: { approved: true } }))).toBe('POLICY_DENIED')
    expect(log).toEqual([])
  })

  test('uses its answer; a live listener that came meanwhile is not asked a second time', async () => {
    const log: unknown[] = []
    const call = callOf()
    const first = await call.attempt(silent.guard(noting('save', log), A))
    const bus = createBus()
    bus.on('approval', () => expect.unreachable())
    const tool = createPolicy({ bus }).guard(noting('save', log), A)
    expect((await call.attempt(tool)).interrupts).toEqual(first.interrupts)
    await call.attempt(tool, { c1: { approved: true } })
    expect(log).toHaveLength(1)
  })

  test('does not ask a live listener again that has approved it, also when that one is gone', async () => {
    const bus = createBus()
    let asked = 0
    const stop = bus.on('approval', () => ({ approved: ++asked > 0 }))
    const invoke: Tool['invoke'] = async (_, ctx) => `Hello ${await ctx.interrupt({ reason: 'input' })}`
    const tool = createPolicy({ bus }).guard(noting('greet', [], { invoke }), A)
    const call = callOf()
    expect((await call.attempt(tool)).interrupts).toMatchObject([
      { id: expect.stringMatching(/^c1#/), reason: 'input' },
    ])
    stop()
    expect((await call.attempt(tool, { c1: 'Ann' })).result).toEqual({ content: 'Hello Ann' })
    expect(asked).toBe(1)
  })

  test('keeps its approval apart from the questions of the tool', async () => {
    const invoke: Tool['invoke'] = async (_, ctx) => JSON.stringify(await ctx.interrupt({ reason: 'approval' }))
    const call = callOf()
    const first = await call.attempt(silent.guard(noting('greet', [], { invoke }), A))
    const looser = createPolicy({ rules: [{ effect: 'allow' }] }).guard(noting('greet', [], { invoke }), A)
    const second = await call.attempt(looser, { c1: { approved: true } })
    expect(second.interrupts).toMatchObject([{ id: expect.stringMatching(/^c1#/), callId: 'c1' }])
    expect(second.interrupts[0]?.id).not.toBe(first.interrupts[0]?.id)
    expect((await call.attempt(looser, { c1: 'mine' })).result).toEqual({ content: '"mine"' })
  })

  test('with other arguments than those that were approved is not run', async () => {
    const log: unknown[] = []
    const tool = silent.guard(noting('save', log, { onError: 'throw' }), A)
    for (const live of [false, true]) {
      const bus = createBus()
      if (live) bus.on('approval', () => ({ approved: true }))
      let text = '{"n":1}'
      const wait: Tool['invoke'] = (args, ctx) => {
        log.push(args)
        return ctx.interrupt<string>({ reason: 'input' })
      }
      const inner = createPolicy({ bus }).guard(live ? noting('save', log, { invoke: wait }) : tool, A)
      const swapped = (): Tool => ({
        ...inner,
        invoke: (_, ctx, call) => inner.invoke?.(JSON.parse(text), ctx, { ...call, arguments: text }),
      })
      const call = callOf()
      await call.attempt(swapped())
      expect(log.splice(0)).toEqual(live ? [{ n: 1 }] : [])
      text = '{"n":2}'
      expect(codeOf(await call.attempt(swapped(), { c1: { approved: true } }))).toBe('POLICY_DENIED')
      expect(log).toEqual([])
    }
  })

  test('a sub-agent in it continues where it was', async () => {
    let started = 0
    const child = {
      name: 'child',
      description: 'Asks.',
      async *run(_: unknown, ctx: Parameters<typeof say>[0]) {
        started++
        yield* say(ctx, `got ${await ctx.interrupt({ reason: 'input' })}`)
      },
    }
    const invoke: Tool['invoke'] = async (_, ctx) => (await runNested(child, { messages: [] }, ctx)).text
    const tool = silent.guard(noting('delegate', [], { invoke }), A)
    const call = callOf()
    await call.attempt(tool)
    const [question] = (await call.attempt(tool, { c1: { approved: true } })).interrupts
    expect(question).toMatchObject({ agentName: 'child', reason: 'input' })
    const { result } = await call.attempt(tool, { [question?.id ?? '']: 'it' })
    expect([result, started]).toEqual([{ content: 'got it' }, 2])
  })

  test('in which a sub-agent waits is denied when a rule has come to ask, and its work is not taken for an approval', async () => {
    const child = {
      name: 'child',
      description: 'Asks.',
      async *run(_: unknown, ctx: Parameters<typeof say>[0]) {
        yield* say(ctx, `got ${await ctx.interrupt({ reason: 'approval' })}`)
      },
    }
    const log: unknown[] = []
    const invoke: Tool['invoke'] = async (_, ctx) => {
      log.push('ran')
      return (await runNested(child, { messages: [] }, ctx)).text
    }
    const call = callOf()
    const loose = createPolicy({ rules: [{ effect: 'allow' }] }).guard(noting('delegate', [], { invoke }), A)
    const [question] = (await call.attempt(loose)).interrupts
    const attempt = await call.attempt(silent.guard(noting('delegate', [], { invoke }), A), {
      [question?.id ?? '']: { approved: true },
    })
    expect([codeOf(attempt), log]).toEqual(['POLICY_DENIED', ['ran']])
  })
})
