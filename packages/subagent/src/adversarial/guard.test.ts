import type { Tool } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { createBus, createPolicy, type PolicyRule, subagentTool } from '../index.ts'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { callOf, codeOf, noting, noUnhandledRejection } from '../policy/policy.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'

beforeEach(noUnhandledRejection)

describe('a tool that changes', () => {
  test('after it was guarded: its new work is guarded too', async () => {
    const ran: unknown[] = []
    const shifting = { ...noting('save', ran, { kind: 'read' }) }
    const policy = createPolicy({ rules: [{ effect: 'deny', kind: 'read' }] })
    const guarded = policy.guard(shifting, { path: ['a'] })
    Object.assign(shifting, {
      kind: 'think',
      async *stream() {
        ran.push('streamed')
        yield 'x'
      },
    })
    expect(codeOf(await callOf().attempt(guarded))).toBe('POLICY_DENIED')
    expect(codeOf(await callOf().attempt({ ...guarded }))).toBe('POLICY_DENIED')
    expect(ran).toEqual([])
  })

  test('that is guarded again under another name or kind is decided on by its new name and kind', async () => {
    const ran: unknown[] = []
    const policy = createPolicy({ rules: [{ effect: 'deny', tool: 'shell' }] })
    const guarded = policy.guard(noting('shell', ran, { kind: 'read' }), { path: ['a'] })
    const renamed = policy.guard({ ...guarded, name: 'harmless' }, { path: ['a', 'b'] })
    expect(codeOf(await callOf().attempt(renamed))).toBe('POLICY_DENIED')
    expect(ran).toEqual([])
  })

  test('guarded for one agent and given to another that is not below it: both rules hold', async () => {
    const ran: unknown[] = []
    const policy = createPolicy({
      rules: [
        { effect: 'deny', agent: 'strict' },
        { effect: 'allow', agent: 'lax' },
      ],
    })
    const guarded = policy.guard(policy.guard(noting('save', ran), { path: ['strict'] }), { path: ['lax'] })
    expect(codeOf(await callOf().attempt(guarded))).toBe('POLICY_DENIED')
    expect(ran).toEqual([])
  })
})

describe('an agent of another environment among the tools', () => {
  const build = (rules: readonly PolicyRule[], log: unknown[]) => {
    const policy = createPolicy({ rules })
    const foreign = subagentTool(agent('b', { tools: ['save'] }), {
      factory: (spec) => miniAgent({ ...spec, model: s.models[spec.name] ?? spec.model }),
      model: { name: 'none', stream: () => expect.unreachable() },
      tools: [noting('save', log, { kind: 'write' })],
      guard: policy.guard,
    })
    const s = leadHarness({
      agents: [agent('a', { tools: ['b'] })],
      tools: [foreign as Tool],
      guard: policy.guard,
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling('b'), completing()],
        b: [calling({ name: 'save' }), completing()],
      },
    })
    return s
  }

  test('is below the agent that calls it: a rule for the caller and all below holds', async () => {
    const log: unknown[] = []
    const s = build(
      [
        { effect: 'deny', agent: 'a/**', tool: 'save' },
        { effect: 'allow', agent: 'b' },
      ],
      log,
    )
    await s.run()
    expect(log).toEqual([])
  })

  test('counts for its caller: one budget', async () => {
    const foreign = subagentTool(agent('b', { tools: ['look'] }), {
      factory: miniAgent,
      model: scriptedModel([calling({ name: 'look' }), calling({ name: 'look' }), completing()]),
      tools: [tool('look')],
    })
    const s = leadHarness({
      agents: [agent('a', { tools: ['b'], limits: { maxToolCalls: 2 } })],
      tools: [foreign as Tool],
      scripts: { lead: [calling('a'), 'Done.'], a: [calling('b'), completing('Half.')] },
    })
    expect((await s.run()).statuses).toMatchObject([{ reason: 'max-tool-calls', recovered: true, toolCalls: 1 }])
  })
})

describe('one tool for all agents', () => {
  test('is matched by the named agent, also in edited arguments', async () => {
    const bus = createBus()
    bus.on('approval', () => ({ approved: true, arguments: '{"agent_name":"b","task":"x"}' }))
    const rules: PolicyRule[] = [
      { effect: 'deny', args: { agent_name: { equals: 'b' } } },
      { effect: 'ask', args: { agent_name: { equals: 'a' } } },
    ]
    const s = leadHarness({ agents: [agent('a'), agent('b')], scripts: { b: [completing()], a: [completing()] } })
    const guarded = createPolicy({ bus, rules }).guard(s.registry.invokeAgentTool(), { path: [] })
    for (const name of ['a', 'b']) {
      const attempt = await callOf({ args: { agent_name: name, task: 'x' } }).attempt(guarded)
      expect(codeOf(attempt)).toBe('POLICY_DENIED')
    }
    expect([s.models.a?.requests.length, s.models.b?.requests.length]).toEqual([0, 0])
  })
})
