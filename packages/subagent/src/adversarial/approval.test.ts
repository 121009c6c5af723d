import type { Tool } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { fakeClock } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { type AuditEvent, createBus, createPolicy } from '../index.ts'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { callOf, codeOf, idle, noting, noUnhandledRejection } from '../policy/policy.fixture.ts'
import { tool } from '../subagent.fixture.ts'

beforeEach(noUnhandledRejection)

describe('listeners', () => {
  test('one that approves twice, late, and in vain lets the tool run once', async () => {
    const bus = createBus()
    const ran: unknown[] = []
    bus.on('approval', () => ({ approved: true }))
    bus.on('approval', () => ({ approved: true }))
    bus.on('approval', async () => ({ approved: false }))
    await callOf().attempt(createPolicy({ bus }).guard(noting('save', ran), { path: [] }))
    expect(ran).toHaveLength(1)
  })

  test('a thousand calls at once are each asked about once, and nothing stays', async () => {
    const bus = createBus()
    const clock = fakeClock()
    const ids = new Set<string>()
    bus.on('approval', async ({ id }) => {
      ids.add(id)
      return { approved: Number(id.replace(/\D/g, '')) % 2 === 0 }
    })
    const ran: unknown[] = []
    const guarded = createPolicy({ bus }).guard(noting('save', ran), { path: ['a'] })
    await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => callOf({ callId: `c${n}`, args: { n }, clock }).attempt(guarded)),
    )
    expect([ids.size, ran.length, clock.pending]).toEqual([1_000, 500, 0])
    expect(ran.every((args) => (args as { n: number }).n % 2 === 0)).toBe(true)
  })

  test('one that stops itself while it is asked has not answered, and cannot answer later', async () => {
    const bus = createBus()
    const ran: unknown[] = []
    const stop = bus.on('approval', () => {
      stop()
      return { approved: true }
    })
    const guarded = createPolicy({ bus }).guard(noting('save', ran), { path: [] })
    for (let n = 0; n < 2; n++) {
      expect(codeOf(await callOf({ canInterrupt: false }).attempt(guarded))).toBe('POLICY_DENIED')
    }
    expect(ran).toEqual([])
  })

  test('an audit that throws, hangs or is slow neither stops nor lets through', async () => {
    const reports: unknown[] = []
    const bus = createBus({ report: (error) => void reports.push(error) })
    const ran: unknown[] = []
    bus.on('audit', () => {
      throw new Error('boom')
    })
    bus.on('audit', () => new Promise<never>(() => {}))
    bus.on('audit', () => Promise.reject(new Error('boom')))
    const policy = createPolicy({ bus, rules: [{ effect: 'deny', tool: 'rm' }] })
    expect(codeOf(await callOf().attempt(policy.guard(noting('rm', ran, { kind: 'read' }), { path: [] })))).toBe(
      'POLICY_DENIED',
    )
    await callOf().attempt(policy.guard(noting('ls', ran, { kind: 'read' }), { path: [] }))
    expect(ran).toHaveLength(1)
  })

  test.each(['{"n":1}', '{"n":1,"__proto__":{"force":true}}', '{"n":1,"constructor":{"prototype":{"force":true}}}'])(
    'edited arguments %s pollute nothing',
    async (text) => {
      const bus = createBus()
      const ran: unknown[] = []
      bus.on('approval', () => ({ approved: true, arguments: text }))
      await callOf({ args: { n: 0 } }).attempt(createPolicy({ bus }).guard(noting('save', ran), { path: [] }))
      expect(ran).toHaveLength(1)
      expect((ran[0] as { force?: unknown }).force).toBeUndefined()
      expect(({} as { force?: unknown }).force).toBeUndefined()
    },
  )

  test('edited arguments that a deny knows only by a default of the schema are denied', async () => {
    const bus = createBus()
    const ran: unknown[] = []
    bus.on('approval', () => ({ approved: true, arguments: '{}' }))
    const policy = createPolicy({ bus, rules: [{ effect: 'deny', args: { force: { equals: true } } }] })
    const parameters = z.object({ force: z.boolean().default(true) })
    const guarded = policy.guard(noting('save', ran, { parameters }), { path: [] })
    expect(codeOf(await callOf({ args: { force: false } }).attempt(guarded))).toBe('POLICY_DENIED')
    expect(ran).toEqual([])
  })

  test('a limit of more than timers can count has not passed', async () => {
    const bus = createBus()
    const { promise, resolve } = Promise.withResolvers<{ approved: true }>()
    bus.on('approval', () => promise)
    const ran: unknown[] = []
    const guarded = createPolicy({ bus, askTimeoutMs: 3_000_000_000 }).guard(noting('save', ran), { path: [] })
    const attempt = callOf({ canInterrupt: false, clock: systemClock }).attempt(guarded)
    for (let i = 0; i < 20; i++) await idle()
    await new Promise((go) => setTimeout(go, 10))
    resolve({ approved: true })
    expect((await attempt).result).toEqual({ content: 'save done' })
  })
})

describe('the same call id twice in one turn', () => {
  test('an approval of one is not an approval of the other', async () => {
    const ran: unknown[] = []
    const s = leadHarness({
      agents: [agent('a', { tools: ['save'] })],
      tools: [noting('save', ran)],
      guard: createPolicy().guard,
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [
          calling({ id: 'same', name: 'save', arguments: { n: 1 } }),
          calling({ id: 'same', name: 'save', arguments: { n: 2 } }),
          completing(),
        ],
      },
    })
    const first = await s.run()
    expect(first.asked).toHaveLength(1)
    await s.resume({ [first.asked[0] as string]: { approved: true } })
    expect(ran).toEqual([{ n: 1 }])
  })
})

describe('audit', () => {
  const heard = (bus: ReturnType<typeof createBus>) => {
    const events: AuditEvent[] = []
    bus.on('audit', (event) => void events.push(JSON.parse(JSON.stringify(event))))
    return events
  }

  test('a stream that is left is finished', async () => {
    const bus = createBus()
    const events = heard(bus)
    async function* stream() {
      yield 'one'
      yield 'two'
    }
    const guarded = createPolicy({ bus }).guard(tool('look', { stream }), { path: ['a'] })
    await callOf().attempt({
      ...guarded,
      async *stream(args, ctx, call) {
        for await (const chunk of guarded.stream?.(args, ctx, call) ?? []) {
          yield chunk
          return 'enough'
        }
      },
    } as Tool)
    expect(events.map(({ type }) => type)).toEqual(['requested', 'decided', 'finished'])
  })

  test('of parallel calls of a whole tree: one story for each, in order', async () => {
    const bus = createBus()
    const events = heard(bus)
    const calls = Array.from({ length: 20 }, (_, n) => ({ id: `w${n}`, name: n % 2 ? 'save' : 'look' }))
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'save', 'look'] }), agent('b', { tools: ['save', 'look'] })],
      tools: [tool('save', { kind: 'write' }), tool('look')],
      guard: createPolicy({ bus, rules: [{ effect: 'deny', tool: 'save' }] }).guard,
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling('b', ...calls), completing()],
        b: [calling(...calls), completing()],
      },
    })
    await s.run()
    const stories = Map.groupBy(events, ({ id, agent: who }) => `${who} ${id}`)
    expect(stories.size).toBe(42)
    for (const story of stories.values()) {
      expect(story.map(({ type }) => type)).toEqual(['requested', 'decided', 'finished'])
    }
  })
})
