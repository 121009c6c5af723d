import type { Tool } from '@troupe/kernel'
import { notJson } from '@troupe/kernel/kit'
import { fakeClock } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AuditEvent } from './audit-event.ts'
import { createBus } from './create-bus.ts'
import { type CallOptions, callOf, idle, noting, noUnhandledRejection } from './policy.fixture.ts'
import { createPolicy } from './policy.ts'
import type { PolicyRule } from './rule.ts'

beforeEach(noUnhandledRejection)

const boom = () => {
  throw new Error('boom')
}

/** A policy whose audit is written down, in lines. */
function audited(...rules: readonly PolicyRule[]) {
  const bus = createBus({ report: () => {} })
  const events: AuditEvent[] = []
  bus.on('audit', (event) => void events.push(event))
  const guard = (tool: Tool) => createPolicy({ rules, bus }).guard(tool, { path: ['a', 'b'] })
  const lines = () =>
    events.splice(0).map((event) => {
      if (event.type === 'requested') return `requested ${event.arguments}`
      if (event.type === 'finished') return `finished ${event.status} ${event.error?.code ?? ''}`.trim()
      return `decided ${event.effect} ${event.rules} ${event.by} ${event.rule ?? ''}`.trim()
    })
  return { bus, events, guard, lines }
}

describe('the audit of a call', () => {
  test('has caller, call, time and duration, as frozen plain JSON', async () => {
    const clock = fakeClock(1000)
    const { events, guard } = audited({ effect: 'allow' })
    const slow = noting('save', [], { invoke: () => void clock.advance(25) })
    await callOf({ args: { n: 1 }, clock }).attempt(guard(slow))
    const stamp = { id: 'c1', callId: 'c1', runId: 'R1', agent: 'a/b', tool: 'save', kind: 'execute' }
    expect(events).toEqual([
      { type: 'requested', ...stamp, at: 1000, arguments: '{"n":1}' },
      { type: 'decided', ...stamp, at: 1000, effect: 'allow', rules: 'allow', by: 'rule', rule: 0 },
      { type: 'finished', ...stamp, at: 1025, status: 'complete', durationMs: 25 },
    ])
    expect(events.map((event) => [notJson(event), Object.isFrozen(event)])).toEqual(events.map(() => [undefined, true]))
  })

  test('by rule, by default, by nobody', async () => {
    const { guard, lines } = audited({ effect: 'deny', tool: 'rm' })
    await callOf().attempt(guard(noting('rm', [])))
    expect(lines()).toEqual(['requested {}', 'decided deny deny rule 0', 'finished denied POLICY_DENIED'])
    await callOf().attempt(guard(noting('cat', [], { kind: 'read' })))
    expect(lines()).toEqual(['requested {}', 'decided allow allow default', 'finished complete'])
    await callOf({ canInterrupt: false }).attempt(guard(noting('cp', [])))
    expect(lines()).toEqual(['requested {}', 'decided deny ask nobody', 'finished denied POLICY_DENIED'])
  })

  test('by a listener, with its message', async () => {
    const { bus, events, guard, lines } = audited({ effect: 'ask' })
    const stop = bus.on('approval', () => ({ approved: true, arguments: '{"n":2}', message: 'Less.' }))
    await callOf({ args: { n: 1 } }).attempt(guard(noting('save', [])))
    expect(events[1]).toMatchObject({ arguments: '{"n":2}', message: 'Less.' })
    expect(lines()).toEqual(['requested {"n":1}', 'decided allow ask listener 0', 'finished complete'])
    stop()
    bus.on('approval', () => ({ approved: false }))
    await callOf().attempt(guard(noting('save', [])))
    expect(lines()).toEqual(['requested {}', 'decided deny ask listener 0', 'finished denied TOOL_REFUSED'])
  })

  test('by nobody, if the answer is unusable or asking fails', async () => {
    const { bus, guard, lines, events } = audited({ effect: 'ask', tool: 'save' }, { effect: 'allow', tool: 'copy' })
    bus.on('approval', () => ({ approved: true, arguments: '{' }))
    await callOf().attempt(guard(noting('save', [])))
    expect(events[1]).toMatchObject({ message: expect.stringContaining('not valid JSON') })
    expect(lines()).toEqual(['requested {}', 'decided deny ask nobody 0', 'finished denied VALIDATION_FAILED'])
    await callOf().attempt(guard(noting('copy', [], { needsApproval: boom })))
    expect(lines()).toEqual(['requested {}', 'decided deny allow nobody 1', 'finished denied TOOL_FAILED'])
  })

  test('by the answer to an interrupt, which is a second attempt', async () => {
    const { guard, lines } = audited()
    const call = callOf()
    await call.attempt(guard(noting('save', [])))
    expect(lines()).toEqual(['requested {}', 'finished interrupted'])
    await call.attempt(guard(noting('save', [])), { c1: { approved: true } })
    expect(lines()).toEqual(['requested {}', 'decided allow ask answer', 'finished complete'])
  })

  test.each([
    ['throws', { invoke: () => Promise.reject(new Error('no')) }, 'failed TOOL_FAILED'],
    ['returns an error', { invoke: () => ({ content: '', error: { code: 'MINE', message: 'x' } }) }, 'failed MINE'],
    [
      'returns a refusal of its own',
      { invoke: () => ({ content: '', error: { code: 'TOOL_REFUSED', message: '' } }) },
      'failed TOOL_REFUSED',
    ],
    [
      'returns nonsense',
      { invoke: () => ({ error: { code: 'X', message: 'x', details: boom } }) as never },
      'failed TOOL_FAILED',
    ],
    [
      'asks by itself',
      {
        invoke: (_: unknown, ctx: { interrupt: (r: { reason: string }) => Promise<string> }) =>
          ctx.interrupt({ reason: 'input' }),
      },
      'interrupted',
    ],
  ] as [string, Partial<Tool>, string][])('a tool that %s', async (_, more, end) => {
    const { guard, lines } = audited({ effect: 'allow' })
    const attempt = await callOf().attempt(guard(noting('t', [], more)))
    expect(attempt).toEqual(await callOf().attempt(noting('t', [], more)))
    expect(lines()).toEqual(['requested {}', 'decided allow allow rule 0', `finished ${end}`])
  })

  test('of a stream: finished when it ends, fails or is left', async () => {
    const { guard, lines } = audited({ effect: 'allow' })
    const streaming = (fails: boolean): Tool => ({
      ...noting('s', []),
      async *stream() {
        yield 'one'
        if (fails) throw new Error('cut')
        yield 'two'
      },
    })
    expect((await callOf().attempt(guard(streaming(false)))).chunks).toEqual(['one', 'two'])
    expect(lines().at(-1)).toBe('finished complete')
    await callOf().attempt(guard(streaming(true)))
    expect(lines().at(-1)).toBe('finished failed TOOL_FAILED')
    const leaving = guard(streaming(false))
    const left: Tool = {
      ...leaving,
      stream: undefined as never,
      async invoke(args, ctx, call) {
        for await (const _ of leaving.stream?.(args, ctx, call) ?? []) break
      },
    }
    await callOf().attempt(left)
    expect(lines()).toEqual(['requested {}', 'decided allow allow rule 0', 'finished aborted'])
  })

  test('of an aborted question', async () => {
    const { bus, guard, lines } = audited()
    bus.on('approval', () => new Promise(() => {}))
    const controller = new AbortController()
    const options: CallOptions = { signal: controller.signal, canInterrupt: false }
    const attempt = callOf(options).attempt(guard(noting('t', [])))
    await idle()
    controller.abort()
    await attempt
    expect(lines()).toEqual(['requested {}', 'finished aborted'])
  })
})

describe('an audit listener', () => {
  test('that throws, rejects, hangs or tampers changes nothing', async () => {
    const { bus, guard, lines } = audited({ effect: 'deny', tool: 'rm' })
    bus.on('audit', boom)
    bus.on('audit', () => Promise.reject(new Error('boom')))
    bus.on('audit', () => new Promise(() => {}))
    bus.on('audit', (event) => void Object.assign(event, { effect: 'allow', type: 'requested' }))
    const log: unknown[] = []
    await callOf().attempt(guard(noting('rm', log)))
    await callOf().attempt(guard(noting('cat', log, { kind: 'read' })))
    expect(log).toHaveLength(1)
    expect(lines()).toHaveLength(6)
  })

  test('that is added and removed between calls gets whole calls', async () => {
    const bus = createBus()
    const tool = createPolicy({ bus, rules: [{ effect: 'allow' }] }).guard(noting('t', []), { path: [] })
    const heard: string[] = []
    await callOf().attempt(tool)
    const stop = bus.on('audit', ({ type, agent }) => void heard.push(`${type}${agent}`))
    await callOf().attempt(tool)
    stop()
    await callOf().attempt(tool)
    expect([heard, bus.listeners()]).toEqual([['requested', 'decided', 'finished'], 0])
  })
})
