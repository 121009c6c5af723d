import { beforeEach, describe, expect, test } from 'vitest'
import type { Agent, AgentEvent, EventDraft, RunContext } from '../index.ts'
import { KernelError, say } from '../index.ts'
import { abortScope, pipe } from '../kit.ts'
import { createRunContext, observe, openSpan, runNested, startRun } from '../run.ts'
import { collect, idle, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'
import { agentOf, answer, brief, callOf, input, quiet, request, talker, typesOf } from './run.fixture.ts'

beforeEach(noUnhandledRejection)

const wrong: readonly unknown[] = [
  undefined,
  null,
  'a',
  {},
  { name: 'a', description: 'a' },
  { name: 'a', description: 'a', run: 'soon' },
  { name: '', description: 'a', run() {} },
  { name: 7, description: 'a', run() {} },
]

test.each(wrong)('a value that is not an agent is CONFIG_INVALID at once (%#)', (agent) => {
  const invalid = expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('agent: ') })
  expect(() => startRun(agent as Agent, input)).toThrow(invalid)
  expect(() => observe(agent as Agent, input, createRunContext())).toThrow(invalid)
})

test('a context that the kernel did not make is CONFIG_INVALID', async () => {
  for (const ctx of [undefined, {}, { ...createRunContext(), core: undefined }] as unknown as RunContext[]) {
    expect(() => observe(talker('a'), input, ctx)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    await expect(runNested(talker('a'), input, ctx)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  }
})

describe('an observed agent', () => {
  test('begins when its agent-start was taken, and not at all if it is not taken', async () => {
    for (const taken of [true, false]) {
      let begun = false
      const agent = agentOf('a', (ctx) => {
        begun = true
        return say(ctx, 'one')
      })
      const gate = Promise.withResolvers<void>()
      const seen: string[] = []
      const write = ({ type }: AgentEvent) => (seen.push(type) === 1 ? gate.promise : undefined)
      const done = pipe(observe(agent, input, createRunContext()), { write })
      await idle()
      expect([begun, seen]).toEqual([false, ['agent-start']])
      if (taken) gate.resolve()
      else gate.reject(new KernelError('ABORTED', 'test: gone'))
      await done
      expect([begun, seen.at(-1)]).toEqual([taken, 'agent-end'])
    }
  })

  test('knows its own name, and its span stands at its step', async () => {
    const spans: unknown[] = []
    const onStart = ({ name, spanId, parentSpanId }: object & Record<string, unknown>) =>
      void spans.push([name, spanId, parentSpanId])
    const child = agentOf('child', (ctx) => {
      openSpan(ctx, 'model', 'm', request('branch:0/model:0'))?.end(answer)
      return say(ctx, ctx.agentName)
    })
    const parent = agentOf('parent', async function* (ctx) {
      yield* observe(child, input, ctx.derive({ step: 'branch:0' }))
    })
    const hooks = { onStart: onStart as () => void }
    const callbacks = [{ name: 'spans', agent: hooks, model: hooks }]
    expect(await startRun(parent, input, { runId: 'R', callbacks })).toMatchObject({ text: 'child' })
    expect(spans).toEqual([
      ['parent', 'R/agent', 'R/run'],
      ['child', 'R/branch:0', 'R/run'],
      ['m', 'R/branch:0/model:0', 'R/branch:0'],
    ])
  })

  test('cannot write through its context once it has ended, though the run goes on', async () => {
    const leaked: RunContext[] = []
    const child = quiet('child', async (ctx) => void leaked.push(ctx))
    const parent = agentOf('parent', async function* (ctx) {
      yield* observe(child, input, ctx.derive({ step: 'branch:0' }))
      for (const own of leaked) await expect(own.emit('late', 1)).rejects.toMatchObject({ code: 'ABORTED' })
      yield* say(ctx, 'still here')
    })
    const run = startRun(parent, input)
    expect(typesOf(await collect(run))).not.toContain('custom')
    expect([await run, leaked.length]).toMatchObject([{ text: 'still here' }, 1])
  })

  test('whose sink refuses everything from a change of state on ends in peace', async () => {
    const child = quiet('child', async (ctx) => ctx.state.set('k', 1))
    const seen: string[] = []
    const write = ({ type }: AgentEvent) => {
      seen.push(type)
      return type === 'agent-start' ? undefined : Promise.reject(new Error('full'))
    }
    await pipe(observe(child, input, createRunContext()), { write })
    expect(seen).toEqual(['agent-start', 'state-delta', 'agent-end'])
  })

  const rebuilt = (event: AgentEvent) => KernelError.from('error' in event ? event.error : undefined)
  test.each([
    ['the same error', (event: AgentEvent) => rebuilt(event), 'first', 1],
    ['a fresh error with the same text', () => new KernelError('MINE', 'first'), 'first', 2],
    ['another error of the same code', () => new KernelError('MINE', 'second'), 'second', 2],
  ])('that failed and whose parent then throws %s is reported once each', async (_, made, message, times) => {
    const child = quiet('child', async () => {
      throw new KernelError('MINE', 'first')
    })
    const parent = agentOf('parent', async function* (ctx) {
      let last: AgentEvent | undefined
      for await (const event of observe(child, input, ctx.derive({ step: 'branch:0' }))) {
        last = event
        yield event
      }
      throw made(last ?? expect.fail('no event'))
    })
    const events = await collect(startRun(parent, input))
    expect(events.filter(({ type }) => type === 'error')).toHaveLength(times)
    expect(events.at(-1)).toMatchObject({ outcome: 'failed', error: { code: 'MINE', message } })
  })

  test.each([
    ['TIMEOUT', 'failed'],
    ['ABORTED', 'cancelled'],
  ])('that ends in silence after its own signal aborted with %s has %s', async (code, outcome) => {
    const ends: unknown[] = []
    const parent = agentOf('parent', async function* (ctx) {
      using scope = abortScope(ctx.signal)
      const silent = quiet('silent', async () => scope.abort(new KernelError(code, 'test: stop')))
      for await (const event of observe(silent, input, ctx.derive({ step: 'branch:0', signal: scope.signal }))) {
        if (event.type === 'agent-end') ends.push([event.outcome, event.error?.code])
      }
      yield* say(ctx, 'alive')
    })
    expect(await startRun(parent, input)).toMatchObject({ outcome: 'complete', text: 'alive' })
    expect(ends).toEqual([[outcome, code]])
  })
})

describe('an event', () => {
  const progress = (stamp: object): EventDraft => ({ type: 'custom', name: 'x', data: 1, ...stamp })
  /** The stamp of what an agent says, in a run of its own or nested. */
  async function stampOf(stamp: object, nested = false) {
    const inner = agentOf('inner', async function* () {
      yield progress(stamp)
    })
    const outer = quiet('outer', async (ctx) => {
      await runNested(inner, input, callOf(ctx, 0))
    })
    const events = await collect(startRun(nested ? outer : inner, input, { runId: 'R' }))
    const { type, name, data, ...rest } = events.find((event) => event.type === 'custom') ?? expect.fail('not there')
    expect([type, name, data]).toEqual(['custom', 'x', 1])
    return rest
  }
  const own = { runId: 'R', agentName: 'inner', runPath: [] }
  const nested = {
    runId: 'R/tool:0:0',
    agentName: 'inner',
    runPath: ['outer'],
    parentRunId: 'R',
    parentCallId: 'outer-0',
    origin: 'outer-0',
  }

  test.each([
    {},
    { runId: 'other' },
    { agentName: 'other' },
    { runPath: ['other'] },
    { runId: 'other', agentName: 'other' },
    { runId: 'other', runPath: ['other'] },
    { agentName: 'other', runPath: ['other'] },
    { runId: 'other', agentName: 'other', runPath: ['other'] },
    { parentCallId: 'other' },
    { runId: 'other', agentName: 'other', runPath: ['other'], parentCallId: 'other' },
  ])('keeps what it has of a stamp and is given the rest: %o', async (stamp) => {
    expect(await stampOf(stamp)).toStrictEqual({ ...own, ...stamp })
    expect(await stampOf(stamp, true)).toStrictEqual({ ...nested, ...stamp })
  })

  const others = [{ runId: 'other' }, { agentName: 'other' }, { runPath: ['other'] }]
  const framing: readonly EventDraft[] = [
    { type: 'agent-start' },
    { type: 'error', error: { code: 'THEIRS', message: 'theirs: no' } },
    { type: 'agent-end', outcome: 'complete' },
  ]

  test.each(others)('that frames another agent is passed on: %o', async (stamp) => {
    const agent = agentOf('a', async function* () {
      for (const draft of framing) yield { ...draft, ...stamp }
    })
    const run = startRun(agent, input, { runId: 'R' })
    const passed = ['agent-start', 'error', 'agent-end']
    expect(typesOf(await collect(run))).toEqual(['run-start', 'agent-start', ...passed, 'agent-end', 'run-end'])
    expect(await run).toMatchObject({ outcome: 'complete' })
  })

  describe('of an agent of its own name that it wraps', () => {
    const wrapping = (inner: Agent): Agent => agentOf('a', (ctx) => observe(inner, input, ctx))
    const frames = (events: readonly AgentEvent[]) =>
      events.flatMap((event) => (/^(agent|run)-end$|^error$/.test(event.type) ? [event] : []))

    test.each(['complete', 'failed'] as const)('begins and ends once: %s', async (fate) => {
      const inner = agentOf('a', async function* (ctx) {
        yield* say(ctx, 'done')
        if (fate === 'failed') raise(new KernelError('BROKEN', 'no'))
      })
      for (const agent of [wrapping(inner), wrapping(wrapping(inner))]) {
        const events = await collect(startRun(agent, input, { runId: 'R' }))
        const error = fate === 'failed' ? [{ type: 'error', error: { code: 'BROKEN' } }] : []
        expect(frames(events)).toMatchObject([
          ...error,
          { type: 'agent-end', outcome: fate },
          { type: 'run-end', outcome: fate, text: 'done' },
        ])
        expect(typesOf(events).filter((type) => type === 'agent-start')).toHaveLength(1)
      }
    })

    test('ends as the last attempt did', async () => {
      let attempts = 0
      const inner = agentOf('a', async function* (ctx) {
        if (++attempts === 1) raise(new KernelError('BROKEN', 'no'))
        yield* say(ctx, 'done')
      })
      const agent = agentOf('a', async function* (ctx) {
        yield* observe(inner, input, ctx)
        yield* observe(inner, input, ctx)
      })
      const run = startRun(agent, input)
      expect(await run).toMatchObject({ outcome: 'complete', text: 'done' })
    })

    test('asks and is interrupted', async () => {
      const inner = agentOf('a', async function* (ctx) {
        yield* say(ctx, String(await ctx.interrupt({ reason: 'input' })))
      })
      const result = await startRun(wrapping(inner), input, { canInterrupt: true })
      expect(result).toMatchObject({ outcome: 'interrupted', interrupts: [{ reason: 'input' }] })
    })
  })

  test.each([{}, own, { ...own, runPath: ['outer'] }])('that frames its own agent is refused: %o', async (stamp) => {
    const forger = agentOf('inner', async function* () {
      yield { type: 'agent-end', outcome: 'complete', ...stamp }
    })
    const { runPath = [] } = stamp as { readonly runPath?: readonly string[] }
    const parent = agentOf('parent', (ctx) =>
      observe(forger, input, ctx.derive({ step: 'branch:0', runPath: [...runPath] })),
    )
    const events = await collect(startRun(parent, input, { runId: 'R' }))
    expect(brief(events).filter((event) => event === 'inner agent-end')).toHaveLength(1)
    expect(events.at(-1)).toMatchObject({ outcome: 'complete' })
    const message = 'agent inner: only the kernel writes agent-end'
    expect(events.find(({ type }) => type === 'error')).toMatchObject({ error: { code: 'EVENT_INVALID', message } })
  })
})
