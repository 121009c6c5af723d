import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { Agent, Callback, KernelError } from '../index.ts'
import { say } from '../index.ts'
import {
  agentOf,
  answer,
  callOf,
  fakeClock,
  input,
  never,
  request,
  talker,
  toolCall,
  typesOf,
} from '../run/run.fixture.ts'
import { openSpan, type RunHost, runNested, startRun } from '../run.ts'
import { collect, idle, noUnhandledRejection, raise } from '../stream/stream.fixture.ts'

beforeEach(noUnhandledRejection)

/** Makes every span there is, and fails if asked to. */
const busy = (fate: 'complete' | 'failed'): Agent =>
  agentOf('a', async function* (ctx) {
    openSpan(ctx, 'model', 'm', request('model:0'))?.end(answer)
    openSpan(ctx, 'model', 'm', request('model:1'))?.fail(new Error('model'))
    const call = callOf(ctx, 0)
    const span = openSpan(call, 'tool', 't', toolCall(call, 'c'))
    await runNested(talker('inner'), input, call)
    span?.end({ content: 'ok' })
    const other = callOf(ctx, 1)
    openSpan(other, 'tool', 't', toolCall(other, 'd'))?.fail(new Error('tool'))
    yield* say(ctx, 'done')
    if (fate === 'failed') raise(new Error('agent'))
  })

describe('a callback', () => {
  const components = ['run', 'agent', 'model', 'tool'] as const
  const hooks = components.flatMap((component) =>
    ['onStart', 'onEnd', 'onError', ...(component === 'run' ? ['onPart'] : [])].map(
      (hook) => [component, hook] as const,
    ),
  )
  const ways: Record<string, () => unknown> = {
    throws: () => raise(new Error('callback')),
    rejects: () => Promise.reject(new Error('callback')),
    'throws nothing': () => raise(undefined),
    hangs: () => never,
  }

  const cases = hooks.flatMap((hook) => Object.keys(ways).map((way) => [...hook, way] as const))

  function expectCause(error: KernelError, way: string): void {
    const thrown = way === 'throws' || way === 'rejects'
    const cause = thrown ? expect.objectContaining({ message: 'callback' }) : expect.anything()
    if (way !== 'throws nothing') expect(error).toMatchObject({ cause })
    expect(error.message).toContain('callback bad: ')
  }

  test.each(cases.filter(([, hook, way]) => hook !== 'onPart' || way !== 'hangs'))(
    'whose %s.%s %s leaves the run and its neighbours alone and is reported once',
    async (component, hook, way) => {
      for (const fate of ['complete', 'failed'] as const) {
        const expected = await collect(startRun(busy(fate), input, { runId: 'R' }))
        const clock = fakeClock()
        const reports: KernelError[] = []
        const seen: string[] = []
        const bad = { name: 'bad', [component]: { [hook]: ways[way] } } as Callback
        const good: Callback = { name: 'good', run: { onPart: (_, event) => void seen.push(event.type) } }
        const report = (error: KernelError): void => void reports.push(error)
        const run = startRun(busy(fate), input, { runId: 'R', callbacks: [bad, good], clock, report })
        expect(await collect(run)).toEqual(expected)
        await idle()
        expect(seen.sort()).toEqual(typesOf(expected).sort())
        if (way === 'hangs') {
          await clock.pass(9_999)
          expect(reports).toEqual([])
          await clock.pass(1)
        }
        const called = !(hook === 'onError' && fate === 'complete' && ['run', 'agent'].includes(component))
        expect(reports.map(({ code }) => code)).toEqual(called ? ['CALLBACK_FAILED'] : [])
        for (const error of reports) expectCause(error, way)
        expect(clock.pending()).toBe(0)
      }
    },
  )

  test('that fails is reported once for each run, to the console where the report itself throws', async () => {
    const error = vi.spyOn(console, 'error').mockReturnValue()
    const bad: Callback = { name: 'bad', run: { onPart: () => raise(new Error('callback')) } }
    const reports: KernelError[] = []
    for (let i = 0; i < 3; i++) {
      await startRun(busy('complete'), input, {
        callbacks: [bad, { ...bad, name: 'worse' }],
        report: (failure) => raise(reports.push(failure)),
      })
    }
    expect(error.mock.calls).toEqual(reports.map((failure) => [failure]))
    error.mockRestore()
    const once = ['callback bad: callback', 'callback worse: callback']
    expect(reports.map(({ message }) => message)).toEqual([...once, ...once, ...once])
  })

  test('has hooks that are methods', async () => {
    class Counter {
      count = 0
      onStart() {
        this.count++
      }
      onPart() {
        this.count++
      }
      onEnd() {
        this.count++
      }
    }
    const run = new Counter()
    await startRun(talker('a'), input, { callbacks: [{ name: 'counter', run }] })
    expect(run.count).toBe(9)
  })

  test.each([null, 'callback', {}, { name: '' }, { name: 7 }])('that has no name is CONFIG_INVALID: %o', (callback) => {
    const invalid = expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('callbacks: ') })
    expect(() => startRun(talker('a'), input, { callbacks: [callback as Callback] })).toThrow(invalid)
  })

  test('that is slow is not reported, but one with a hook that hangs is, even if the others are done', async () => {
    const clock = fakeClock()
    const reports: string[] = []
    const gate = Promise.withResolvers<void>()
    const slow = () => gate.promise
    const callbacks: Callback[] = [
      { name: 'hanging', run: { onStart: slow, onEnd: () => never } },
      { name: 'slow', run: { onStart: slow, onEnd: slow } },
    ]
    const report = ({ message }: KernelError) => void reports.push(message)
    await startRun(talker('a'), input, { callbacks, clock, report })
    await clock.pass(5_000)
    gate.resolve()
    await clock.pass(4_999)
    expect([reports, clock.pending()]).toEqual([[], 1])
    await clock.pass(1)
    expect(reports).toEqual(['callback hanging: a hook is still pending 10000 ms after the run ended'])
    await startRun(talker('a'), input, { callbacks: callbacks.slice(1), clock, report })
    await clock.pass(0)
    expect([reports.length, clock.pending()]).toEqual([1, 0])
  })
})

describe('a callback for agents of some names', () => {
  test('hears only them, their model and tool calls, their runs and their events', async () => {
    const heard: string[] = []
    const note = (info: { component: string; name: string }) => void heard.push(`${info.component} ${info.name}`)
    const hooks = { onStart: note }
    const onPart = (_: unknown, { type, agentName }: { type: string; agentName: string }) =>
      void heard.push(`${agentName} ${type}`)
    const only = (...agents: readonly string[]): Callback => ({
      name: 'only',
      agents,
      run: { ...hooks, onPart },
      agent: hooks,
      model: hooks,
      tool: hooks,
    })
    await startRun(busy('complete'), input, { callbacks: [only('inner')] })
    expect(new Set(heard.map((line) => line.replace(/ .*-(start|end|delta)$/, '')))).toEqual(
      new Set(['run inner', 'agent inner', 'inner']),
    )
    heard.length = 0
    await startRun(busy('complete'), input, { callbacks: [only('a')] })
    expect(heard.filter((line) => /^(run|agent|model|tool) /.test(line))).toEqual([
      'run a',
      'agent a',
      'model m',
      'model m',
      'tool t',
      'tool t',
    ])
    heard.length = 0
    await startRun(busy('complete'), input, { callbacks: [only()] })
    expect(heard).toEqual([])
  })

  test('says so if the names are malformed', () => {
    expect(() => startRun(talker('a'), input, { callbacks: [{ name: 'c', agents: 'a' as never }] })).toThrow(
      /callback c: agents must be a list of names/,
    )
  })
})

describe('a callback that makes one for each run', () => {
  const names = (heard: string[]): Callback => ({ name: 'own', run: { onStart: ({ name }) => void heard.push(name) } })

  test('is asked where the run is asked for, and what it makes observes the run and those nested in it', async () => {
    const made: string[][] = []
    const forRun = () => {
      const heard: string[] = []
      made.push(heard)
      return names(heard)
    }
    const callbacks: Callback[] = [{ name: 'maker', forRun }, { name: 'other' }]
    const run = startRun(busy('complete'), input, { callbacks })
    expect(made).toEqual([[]])
    await run
    await startRun(talker('b'), input, { callbacks })
    expect(made).toEqual([['a', 'inner'], ['b']])
  })

  test.each<[string, string, () => Callback]>([
    ['throws', 'CALLBACK_FAILED', () => raise(new Error('no'))],
    ['makes no callback', 'CONFIG_INVALID', () => ({}) as Callback],
    [
      'makes one with a misspelt hook',
      'CONFIG_INVALID',
      () => ({ name: 'own', run: { onStop: () => undefined } }) as Callback,
    ],
  ])('is left out and reported if it %s: %s', async (_, code, forRun) => {
    const reports: KernelError[] = []
    const heard: string[] = []
    const callbacks: Callback[] = [{ name: 'maker', forRun }, names(heard)]
    await startRun(talker('a'), input, { callbacks, report: (error) => void reports.push(error) })
    expect([heard, reports.map((error) => error.code)]).toEqual([['a'], [code]])
  })
})

test('what callbacks keep is given to the host by name, without that of those that fail', async () => {
  const reports: string[] = []
  const callbacks: Callback[] = [
    { name: 'trace', keep: () => ({ id: 1 }) },
    { name: 'nothing', keep: () => undefined },
    { name: 'broken', keep: () => raise(new Error('no')) },
    { name: 'odd', keep: () => new Date() as never },
  ]
  const kept: unknown[] = []
  const seen: unknown[] = []
  const around: RunHost['around'] = (_ctx, run) => {
    kept.push(run.kept())
    return run.agent(input)
  }
  const open: RunHost['open'] = async () => ({ kept: { trace: { id: 0 } }, close: async () => undefined })
  const watcher: Callback = {
    name: 'watcher',
    run: { onStart: (info) => void seen.push(info.kept) },
    agent: { onStart: (info) => void seen.push(info.kept) },
  }
  const report = ({ message }: KernelError) => void reports.push(message)
  await startRun(talker('a'), input, { callbacks: [...callbacks, watcher], report }, { open, around })
  expect(kept).toEqual([{ trace: { id: 1 } }])
  expect(seen).toEqual([{ trace: { id: 0 } }, undefined])
  expect(reports.map((message) => message.slice(0, 16))).toEqual(['callback broken:', 'callback odd: ke'])
})
