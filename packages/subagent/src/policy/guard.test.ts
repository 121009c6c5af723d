import { defineTool, type Tool, type ToolCallInput } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { testTool } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createBus } from './create-bus.ts'
import { callOf, codeOf, noting, noUnhandledRejection } from './policy.fixture.ts'
import { createPolicy } from './policy.ts'
import type { PolicyRule } from './rule.ts'

beforeEach(noUnhandledRejection)

const A = { path: ['a'] }
const policyOf = (...rules: readonly PolicyRule[]) => createPolicy({ rules })
const DENY = policyOf({ effect: 'deny', reason: 'the disk is read-only' })
const ALLOW = policyOf({ effect: 'allow' })

const echo = (): Tool =>
  noting('echo', [], {
    kind: 'read',
    parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  })
testTool('a guarded tool that is allowed', () => ALLOW.guard(echo(), A), { args: { n: 1 } })
testTool('a guarded tool that is denied', () => DENY.guard(echo(), A), { args: { n: 1 } })
testTool('a guarded tool that is asked for', () => policyOf({ effect: 'ask' }).guard(echo(), A), { args: { n: 1 } })

const streaming = (log: unknown[]): Tool => ({
  ...noting('s', log),
  async *stream(args) {
    log.push(args)
    yield 'one '
    yield 'two'
    return { content: 'whole' }
  },
})

describe('every way to call a tool', () => {
  const ways: [string, (log: unknown[]) => Tool][] = [
    ['invoke', (log) => noting('t', log)],
    ['stream', streaming],
    ['longRunning with work', (log) => noting('t', log, { longRunning: true })],
    ['onError throw', (log) => noting('t', log, { onError: 'throw' })],
  ]
  test.each(ways)('%s: denied, it is not run and the model reads why', async (_, make) => {
    const log: unknown[] = []
    const { result, chunks } = await callOf().attempt(DENY.guard(make(log), A))
    const { name } = make([])
    const message = `tool ${name}: policy does not allow this call, the disk is read-only`
    const error = { code: 'POLICY_DENIED', message, details: { agent: 'a', tool: name, rule: 0 } }
    expect(result).toEqual({ content: `Error: ${message}. Go on without this call.`, error })
    expect([log, chunks]).toEqual([[], []])
  })

  test.each(ways)('%s: allowed, or approved, it is run as it is', async (_, make) => {
    for (const policy of [ALLOW, createPolicy()]) {
      const log: unknown[] = []
      const plain = await callOf().attempt(make([]))
      const call = callOf()
      const tool = policy.guard(make(log), A)
      const first = await call.attempt(tool)
      const last = policy === ALLOW ? first : await call.attempt(tool, { c1: { approved: true } })
      expect([last, log]).toEqual([plain, [{}]])
    }
  })

  test('longRunning without work: a denial answers the call, an approval leaves it open', async () => {
    const open = defineTool({
      name: 'form',
      description: '',
      parameters: { type: 'object' },
      longRunning: true,
    }) as Tool
    expect(codeOf(await callOf().attempt(DENY.guard(open, A)))).toBe('POLICY_DENIED')
    expect((await callOf().attempt(ALLOW.guard(open, A))).result).toEqual({ content: '' })
    expect(ALLOW.guard(open, A).stream).toBeUndefined()
    const log: unknown[] = []
    const { invoke: _, ...streams } = streaming(log)
    expect(codeOf(await callOf().attempt(DENY.guard({ ...streams, longRunning: true }, A)))).toBe('POLICY_DENIED')
    expect([ALLOW.guard(streams, A).invoke, log]).toEqual([undefined, []])
  })

  test('both at once: neither is a way around the other', async () => {
    const log: unknown[] = []
    const guarded = DENY.guard(streaming(log), A)
    const call = { callId: 'c', arguments: '{}' } as ToolCallInput
    const ctx = createRunContext()
    expect(await guarded.invoke?.({}, ctx, call)).toMatchObject({ error: { code: 'POLICY_DENIED' } })
    const step = await guarded.stream?.({}, ctx, call)[Symbol.asyncIterator]().next()
    expect(step).toMatchObject({ done: true, value: { error: { code: 'POLICY_DENIED' } } })
    expect(log).toEqual([])
  })

  test('outside a call, where nothing can wait, a call that asks is denied or fails and never runs', async () => {
    for (const canInterrupt of [false, true]) {
      const log: unknown[] = []
      const ctx = createRunContext({ canInterrupt })
      const output = await createPolicy()
        .guard(noting('t', log), A)
        .invoke?.({}, ctx, { callId: 'c', arguments: '{}' } as never)
      expect(output).toMatchObject({ error: { code: canInterrupt ? 'CONFIG_INVALID' : 'POLICY_DENIED' } })
      expect(log).toEqual([])
    }
  })
})

describe('a guarded tool', () => {
  test('shows all that the tool shows, also if it is an instance of a class', async () => {
    class Counter {
      readonly description = 'Counts.'
      readonly parameters = { type: 'object' }
      readonly effect = 'pure'
      #count = 0
      get name() {
        return 'count'
      }
      get kind() {
        return 'read' as const
      }
      invoke() {
        return `${++this.#count}`
      }
    }
    const guarded = createPolicy().guard(new Counter() as Tool, A)
    expect(guarded).toMatchObject({ name: 'count', description: 'Counts.', kind: 'read', effect: 'pure' })
    expect((await callOf().attempt(guarded)).result).toEqual({ content: '1' })
    expect(Object.isFrozen(guarded)).toBe(true)
  })

  test('that is allowed, without an audit, passes on what the tool gives, unwrapped', () => {
    const args = {}
    const seen: unknown[] = []
    const guarded = ALLOW.guard(noting('t', seen), A)
    expect(guarded.invoke?.(args, createRunContext(), {} as ToolCallInput)).toBe('t done')
    expect(seen[0]).toBe(args)
  })

  test('is the same object for the same tool and path', () => {
    const tool = noting('t', [])
    expect(ALLOW.guard(tool, { path: ['a'] })).toBe(ALLOW.guard(tool, A))
    expect(ALLOW.guard(ALLOW.guard(tool, A), A)).toBe(ALLOW.guard(tool, A))
    const others = [ALLOW.guard(tool, { path: [] }), ALLOW.guard(tool, { path: ['a', 'b'] }), DENY.guard(tool, A)]
    expect(new Set([ALLOW.guard(tool, { path: ['a/b'] }), ...others]).size).toBe(4)
  })

  test('gets the value that was judged, also if a schema has made it', async () => {
    const log: { when: Date }[] = []
    const tool = defineTool({
      name: 'plan',
      description: '',
      parameters: z.object({ when: z.string() }),
      invoke: (args) => void log.push(args as never),
    }) as Tool
    const parameters = z.object({ when: z.string().transform((text) => new Date(text)) })
    const call = callOf({ args: { when: '2026-01-01' } })
    const guarded = createPolicy().guard({ ...tool, parameters } as Tool, A)
    await call.attempt(guarded)
    await call.attempt(guarded, { c1: { approved: true } })
    expect(log).toEqual([{ when: new Date('2026-01-01') }])
  })

  test('is matched on validated arguments, with the defaults of the schema', async () => {
    const parameters = z.object({ force: z.boolean().default(true) })
    const tool = { ...noting('push', []), parameters } as Tool
    const policy = policyOf({ effect: 'allow' }, { effect: 'deny', args: { force: { equals: true } } })
    expect(codeOf(await callOf().attempt(policy.guard(tool, A)))).toBe('POLICY_DENIED')
    expect(codeOf(await callOf({ args: { force: false } }).attempt(policy.guard(tool, A)))).toBeUndefined()
  })
})

describe("a tool's own needsApproval", () => {
  const needing = (needsApproval: NonNullable<Tool['needsApproval']>, log: unknown[] = []) =>
    noting('pay', log, { needsApproval })

  test('still asks where rules allow', async () => {
    const log: unknown[] = []
    const tool = ALLOW.guard(
      needing(async (args) => (args as { n: number }).n > 1, log),
      A,
    )
    expect((await callOf({ args: { n: 1 } }).attempt(tool)).interrupts).toEqual([])
    const call = callOf({ args: { n: 2 } })
    expect((await call.attempt(tool)).interrupts).toMatchObject([{ reason: 'approval' }])
    await call.attempt(tool, { c1: { approved: true } })
    expect(log).toEqual([{ n: 1 }, { n: 2 }])
  })

  test('and a rule that asks are one question', async () => {
    let asked = 0
    const bus = createBus()
    bus.on('approval', () => ({ approved: ++asked > 0 }))
    const log: unknown[] = []
    const guarded = createPolicy({ bus }).guard(
      needing(() => true, log),
      A,
    )
    expect(guarded.needsApproval).toBeUndefined()
    const { interrupts } = await callOf().attempt(guarded)
    expect([asked, interrupts, log]).toEqual([1, [], [{}]])
  })

  test('is not asked where a rule denies', async () => {
    expect(
      codeOf(
        await callOf().attempt(
          DENY.guard(
            needing(() => expect.unreachable()),
            A,
          ),
        ),
      ),
    ).toBe('POLICY_DENIED')
  })

  test('that throws: the call fails and the tool does not run, also if its failures end runs', async () => {
    const log: unknown[] = []
    const broken = { ...needing(() => Promise.reject(new Error('down')), log), onError: 'throw' } as const
    expect(codeOf(await callOf().attempt(ALLOW.guard(broken, A)))).toBe('TOOL_FAILED')
    expect(log).toEqual([])
  })
})

describe('a tool that is guarded already', () => {
  test('by the agents above is asked for once, in the name of the one that calls', async () => {
    const agents: string[] = []
    const bus = createBus()
    bus.on('approval', ({ agent }) => ({ approved: agents.push(agent) > 0 }))
    const policy = createPolicy({ bus })
    const log: unknown[] = []
    const tool = [[], ['a'], ['a', 'b']].reduce<Tool>((inner, path) => policy.guard(inner, { path }), noting('t', log))
    await callOf().attempt(tool)
    expect([agents, log]).toEqual([['a/b'], [{}]])
  })

  test('by a stranger, or by another policy, stays guarded by both', async () => {
    const policy = policyOf({ effect: 'allow', agent: 'b' }, { effect: 'deny', agent: 'a' })
    const log: unknown[] = []
    const strangers = policy.guard(policy.guard(noting('t', log), A), { path: ['b'] })
    expect(codeOf(await callOf().attempt(strangers))).toBe('POLICY_DENIED')
    expect(codeOf(await callOf().attempt(ALLOW.guard(DENY.guard(noting('t', log), A), A)))).toBe('POLICY_DENIED')
    expect(log).toEqual([])
  })

  test('an invalid path is refused', () => {
    for (const path of [undefined, 'a', [''], [1], [['a']]]) {
      expect(() => ALLOW.guard(noting('t', []), { path: path as never })).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID' }),
      )
    }
  })
})
