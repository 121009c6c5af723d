import { createBus, createPolicy, type PolicyRule } from '@troupe/subagent'
import { describe, expect, test } from 'vitest'
import { agent, calling, completing, type OfficeOptions, office, tool } from './office.fixture.ts'

const never = () => new Promise<never>(() => {})
const hand = (result: string) => ({ name: 'complete_task', arguments: { result } })

/** A lead that calls `a`, which gives scripted turns. */
const setting = (script: OfficeOptions['scripts'][string], more: Partial<OfficeOptions> = {}) =>
  office({
    agents: [agent('a', { tools: ['save', 'look'] })],
    tools: [tool('save', { kind: 'write' }), tool('look')],
    ...more,
    scripts: { lead: [calling('a'), 'Done.'], a: script, ...more.scripts },
  })

describe('time', () => {
  const limits = { timeoutMs: 30, graceMs: 1_000 }

  test('handing in beside a tool that never ends is not lost', async () => {
    const { ask } = setting([calling(hand('Early.'), { name: 'look' }), completing('Late.')], {
      agents: [agent('a', { tools: ['look'], limits })],
      tools: [tool('look', { invoke: never })],
    })
    expect((await ask()).statuses).toMatchObject([{ reason: 'timeout', recovered: true }])
  })

  test('a tool that does not listen to its signal does not keep its agent', async () => {
    const { ask } = setting([calling({ name: 'look' }), completing('Half.')], {
      agents: [agent('a', { tools: ['look'], limits })],
      tools: [tool('look', { invoke: never })],
    })
    expect((await ask()).statuses).toMatchObject([{ reason: 'timeout', recovered: true, output: 'Half.' }])
  })
})

test('a call above the limit beside a result is reported', async () => {
  const { ask } = setting([calling({ name: 'look' }, { name: 'look' }, hand('Half.'))], {
    agents: [agent('a', { tools: ['look'], limits: { maxToolCalls: 1 } })],
  })
  expect((await ask()).statuses).toMatchObject([
    { reason: 'max-tool-calls', recovered: true, toolCalls: 1, output: 'Half.' },
  ])
})

describe('policy, over a question and another process', () => {
  const ways = {
    invoke: (log: unknown[]) => tool('save', { kind: 'write', invoke: (args) => `${log.push(args)}` }),
    stream: (log: unknown[]) =>
      tool('save', {
        kind: 'write',
        async *stream(args) {
          log.push(args)
          yield 'saved'
        },
      }),
    'long-running': (log: unknown[]) =>
      tool('save', { kind: 'write', longRunning: true, invoke: (args) => `${log.push(args)}` }),
  }
  const names = Object.keys(ways) as (keyof typeof ways)[]
  const build = (way: keyof typeof ways, log: unknown[], rules: readonly PolicyRule[], bus = createBus()) =>
    setting([calling({ id: 's', name: 'save', arguments: { n: 1 } }), completing('A')], {
      tools: [ways[way](log)],
      agents: [agent('a', { tools: ['save'] })],
      guard: createPolicy({ rules, bus }).guard,
    })

  test.each(names)('%s: runs once after it was approved, not before', async (way) => {
    const log: unknown[] = []
    const { ask, answer, move } = build(way, log, [])
    const { asked } = await ask()
    expect([asked.length, log]).toEqual([1, []])
    await move()
    await answer({ [asked[0] as string]: { approved: true } })
    expect(log).toEqual([{ n: 1 }])
  })

  test.each(names)('%s: nonsense for an answer, or a refusal, lets nothing run', async (way) => {
    for (const said of [{ approved: false }, { approved: 'true' }, 'yes', true, 1, null, {}, [true]]) {
      const log: unknown[] = []
      const { ask, answer, move } = build(way, log, [])
      const { asked } = await ask()
      await move()
      await answer({ [asked[0] as string]: said }).catch(() => undefined)
      expect(log).toEqual([])
    }
  })

  test.each(names)('%s: edited arguments that a rule denies do not run', async (way) => {
    const log: unknown[] = []
    const { ask, answer, move } = build(way, log, [{ effect: 'deny', args: { n: { equals: 2 } } }])
    const { asked } = await ask()
    await move()
    await answer({ [asked[0] as string]: { approved: true, arguments: '{"n":2}' } })
    expect(log).toEqual([])
  })

  test('an approval of one call does not apply to the next with the same id', async () => {
    const log: unknown[] = []
    const save = (n: number) => calling({ id: 's', name: 'save', arguments: { n } })
    const { ask, answer, move } = setting([save(1), save(2), completing('A')], {
      tools: [ways.invoke(log)],
      agents: [agent('a', { tools: ['save'] })],
      guard: createPolicy().guard,
    })
    const first = await ask()
    await move()
    const second = await answer({ [first.asked[0] as string]: { approved: true } })
    expect([log, second.end?.outcome]).toEqual([[{ n: 1 }], 'interrupted'])
  })

  test('parallel calls: each has its own answer', async () => {
    const log: unknown[] = []
    const calls = [1, 2, 3].map((n) => ({ id: `s${n}`, name: 'save', arguments: { n } }))
    const { ask, answer, move } = setting([calling(...calls), completing('A')], {
      tools: [ways.invoke(log)],
      agents: [agent('a', { tools: ['save'] })],
      guard: createPolicy().guard,
    })
    const { asked } = await ask()
    expect(asked).toHaveLength(3)
    await move()
    const answers = Object.fromEntries(asked.map((id) => [id, { approved: /s2/.test(id) }]))
    expect((await answer(answers)).statuses).toMatchObject([{ reason: 'goal' }])
    expect(log).toEqual([{ n: 2 }])
  })
})

test.each(['now', 'after-model', 'after-tools'] as const)(
  'a cancel (%s) while a listener hangs runs nothing and leaves nothing waiting',
  async (mode) => {
    const log: unknown[] = []
    const bus = createBus()
    const signals: AbortSignal[] = []
    const { ask } = setting([calling({ name: 'save' }), completing()], {
      tools: [tool('save', { kind: 'write', invoke: (args) => `${log.push(args)}` })],
      agents: [agent('a', { tools: ['save'] })],
      guard: createPolicy({ bus, askTimeoutMs: 100 }).guard,
      onEvent(event, { runner }) {
        if (event.type !== 'tool-start' || event.name !== 'save') return
        setImmediate(() => void runner.cancel({ app: 'office', user: 'ann', threadId: 't' }, { mode }))
      },
    })
    bus.on('approval', ({ signal }) => {
      signals.push(signal)
      return never()
    })
    const { end } = await ask()
    expect([log, signals.map(({ aborted }) => aborted)]).toEqual([[], [true]])
    expect(['cancelled', 'interrupted']).toContain(end?.outcome)
  },
)
