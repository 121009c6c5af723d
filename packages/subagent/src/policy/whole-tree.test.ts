import type { Tool } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { type ScriptedModel, scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import { AgentRegistry, createBus, createPolicy, decide, type PolicyRule, subagentTool } from '../index.ts'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'
import { idle, noUnhandledRejection } from './policy.fixture.ts'

beforeEach(noUnhandledRejection)

const saving = (log: string[]): Tool => tool('save', { kind: 'write', invoke: () => `${log.push('saved')}` })

/** An agent of an environment without a guard, whose only tool writes. */
function foreign(log: string[], model: ScriptedModel): Tool {
  const options = { factory: miniAgent, model, tools: [saving(log)], report: () => {} }
  return subagentTool(agent('writer', { tools: ['save'] }), options)
}

const writing = () => scriptedModel([calling({ name: 'save' }), completing()], { repeat: true })

describe('an agent from elsewhere runs under the guard of its caller', () => {
  test('that is a sub-agent of a guarded environment', async () => {
    const log: string[] = []
    const model = writing()
    const s = leadHarness({
      agents: [agent('a', { tools: ['writer'] })],
      tools: [foreign(log, model)],
      guard: createPolicy({ rules: [{ effect: 'deny', tool: 'save' }] }).guard,
      scripts: { lead: [calling('a'), 'Done.'], a: [calling('writer'), completing()] },
    })
    await s.run()
    expect(model.requests).toHaveLength(2)
    expect(log).toEqual([])
  })

  test('and under its own: the stricter one decides, each question is asked once', async () => {
    const log: string[] = []
    const own = createPolicy({ rules: [{ effect: 'ask', tool: 'save', reason: 'own' }] })
    const options = { factory: miniAgent, model: writing(), tools: [saving(log)], guard: own.guard }
    const s = leadHarness({
      agents: [agent('a', { tools: ['writer'] })],
      tools: [subagentTool(agent('writer', { tools: ['save'] }), options)],
      guard: createPolicy({ rules: [{ effect: 'ask', tool: 'save', reason: 'caller' }] }).guard,
      scripts: { lead: [calling('a'), 'Done.'], a: [calling('writer'), completing()] },
    })
    const asked: (string | undefined)[] = []
    let recording = await s.run()
    for (let i = 0; i < 5 && recording.asked.length > 0; i++) {
      asked.push(...(recording.end?.interrupts ?? []).map(({ message }) => message))
      recording = await s.resume(Object.fromEntries(recording.asked.map((id) => [id, { approved: true }])))
    }
    expect(asked).toEqual(['Allow save? caller', 'Allow save? own'])
    expect(log).toEqual(['saved'])
  })

  test('that is the main agent with a guarded tool', async () => {
    const log: string[] = []
    const policy = createPolicy({ rules: [{ effect: 'deny', agent: 'writer', tool: 'save' }] })
    const lead = miniAgent({
      name: 'lead',
      description: '',
      instruction: '',
      model: scriptedModel([calling('writer'), 'Done.']),
      tools: [{ tool: policy.guard(foreign(log, writing()), { path: [] }), returnDirectly: false }],
      handlers: [],
      maxIterations: 5,
    })
    expect((await startRun(lead, 'Go.')).text).toBe('Done.')
    expect(log).toEqual([])
  })

  test('that has guarded the call of the agent itself: it is decided on once', async () => {
    const bus = createBus()
    const decided: string[] = []
    bus.on('audit', (event) => void (event.type === 'decided' && decided.push(`${event.agent} ${event.tool}`)))
    const { guard } = createPolicy({ bus, rules: [{ effect: 'allow' }] })
    for (const path of [[], ['lead']]) {
      const options = { factory: miniAgent, model: writing(), tools: [saving([])], guard }
      const lead = miniAgent({
        name: 'lead',
        description: '',
        instruction: '',
        model: scriptedModel([calling('writer'), 'Done.']),
        tools: [
          { tool: guard(subagentTool(agent('writer', { tools: ['save'] }), options), { path }), returnDirectly: false },
        ],
        handlers: [],
        maxIterations: 5,
      })
      await startRun(lead, 'Go.')
    }
    expect(decided).toEqual([' writer', 'writer save', 'lead writer', 'writer save'])
  })

  test('also when the same agent was called without a guard before', async () => {
    const log: string[] = []
    const writer = foreign(log, writing())
    const call = async (guard: boolean) => {
      const s = leadHarness({
        agents: [agent('a', { tools: ['writer'] })],
        tools: [writer],
        ...(guard && { guard: createPolicy({ rules: [{ effect: 'deny', tool: 'save' }] }).guard }),
        scripts: { lead: [calling('a'), 'Done.'], a: [calling('writer'), completing()] },
      })
      await s.run()
    }
    await call(false)
    await call(true)
    await call(true)
    expect(log).toEqual(['saved'])
  })
})

describe('denying an agent by name', () => {
  const byRule: [string, PolicyRule][] = [
    ['as a tool', { effect: 'deny', tool: 'coder' }],
    ['as an agent', { effect: 'deny', agent: 'coder' }],
  ]
  test.each(byRule)('%s holds at the lead and through invoke_agent, and its model is not called', async (_, rule) => {
    for (const invoke of [false, true]) {
      const s = leadHarness({
        agents: [agent('coder'), agent('tester')],
        guard: createPolicy({ rules: [rule] }).guard,
        invoke,
        scripts: {
          lead: [
            invoke
              ? calling(
                  { name: 'invoke_agent', arguments: { agent_name: 'coder', task: 't' } },
                  { name: 'invoke_agent', arguments: { agent_name: 'tester', task: 't' } },
                )
              : calling('coder', 'tester'),
            'Done.',
          ],
          coder: [completing()],
          tester: [completing()],
        },
      })
      const { results } = await s.run()
      expect(results.map(({ error }) => error?.code)).toEqual(['POLICY_DENIED', undefined])
      expect([s.models.coder?.requests.length, s.models.tester?.requests.length]).toEqual([0, 1])
    }
  })

  test.each(byRule)('%s holds below another agent', async (_, rule) => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['coder'] }), agent('coder')],
      guard: createPolicy({ rules: [{ ...rule, ...(rule.agent && { agent: '**/coder' }) }] }).guard,
      scripts: { lead: [calling('a'), 'Done.'], a: [calling('coder'), completing()], coder: [completing()] },
    })
    await s.run()
    expect(s.models.coder?.requests).toEqual([])
  })

  test('is part of the decision without side effects, whatever guards the tool', () => {
    const call = (agent_name: unknown) => ({
      path: [],
      tool: 'invoke_agent',
      kind: 'think' as const,
      args: { agent_name },
    })
    const rules: PolicyRule[] = [
      { effect: 'ask', tool: 'tester' },
      { effect: 'deny', tool: 'cod*' },
      { effect: 'deny', agent: 'hacker' },
    ]
    expect(['coder', 'tester', 'hacker', 'other', 7].map((name) => decide(rules, call(name)).effect)).toEqual([
      'deny',
      'ask',
      'deny',
      'allow',
      'allow',
    ])
    expect(decide(rules, { path: [], tool: 'hacker', kind: 'think', args: {}, calls: 'hacker' }).effect).toBe('deny')
    expect(decide(rules, { path: [], tool: 'hacker', kind: 'think', args: {} }).effect).toBe('allow')
  })

  test('a question about an agent is asked once, through invoke_agent too', async () => {
    const s = leadHarness({
      agents: [agent('coder')],
      guard: createPolicy({ rules: [{ effect: 'ask', tool: 'coder' }] }).guard,
      invoke: true,
      scripts: {
        lead: [calling({ name: 'invoke_agent', arguments: { agent_name: 'coder', task: 't' } }), 'Done.'],
        coder: [completing()],
      },
    })
    const { asked } = await s.run()
    expect(asked).toHaveLength(1)
    const { end } = await s.resume({ [asked[0] as string]: { approved: true } })
    expect([end?.outcome, s.models.coder?.requests.length]).toEqual(['complete', 1])
  })
})

describe('a rule that can match nothing', () => {
  const reportsOf = async (rules: readonly PolicyRule[]) => {
    const reports: string[] = []
    const policy = createPolicy({ rules })
    const registry = new AgentRegistry({
      factory: miniAgent,
      model: scriptedModel([]),
      tools: [tool('write_file', { kind: 'write' }), tool('grep'), foreign([], writing())],
      guard: policy.guard,
      report: ({ code, message }) => void reports.push(`${code} ${message}`),
    })
    registry.registerAgent(agent('coder', { tools: ['write_file'] }))
    policy.guard(tool('shell', { kind: 'execute' }), { path: [] })
    registry.tools()
    registry.invokeAgentTool()
    await idle()
    return reports
  }

  test('is reported once at the start, with the nearest name', async () => {
    expect(
      await reportsOf([
        { effect: 'allow', tool: 'grep' },
        { effect: 'deny', tool: ['write_flie', 'shell'] },
        { effect: 'deny', agent: 'coder/tster' },
        { effect: 'deny', agent: 'codr', tool: 'mcp_*' },
        { effect: 'deny', tool: 'write_file', kind: 'read' },
      ]),
    ).toEqual([
      'POLICY_RULE_UNMATCHED policy: rules[1] matches nothing by its tool "write_flie": there is no such tool; did you mean write_file?',
      expect.stringContaining('rules[2] matches nothing by its agent "coder/tster"'),
      'POLICY_RULE_UNMATCHED policy: rules[3] matches nothing by its agent "codr": there is no such agent; did you mean coder?',
      expect.stringContaining('rules[3] matches nothing by its tool "mcp_*"'),
      expect.stringContaining('rules[4] matches nothing by its tool "write_file"'),
    ])
  })

  test('is none that matches a tool of the main agent, an agent from elsewhere or one of its tools, or any agent', async () => {
    expect(
      await reportsOf([
        { effect: 'ask', tool: 'shell' },
        { effect: 'ask', tool: ['coder', 'writer', 'save', 'invoke_agent', '*'] },
        { effect: 'ask', agent: ['', '**', '*', 'coder', 'coder/**', '**/writer'] },
        { effect: 'ask', kind: 'think', args: { path: { glob: '**' } } },
        { effect: 'ask' },
      ]),
    ).toEqual([])
  })

  test('is reported for a single agent, too', async () => {
    const reports: string[] = []
    const { guard } = createPolicy({
      rules: [
        { effect: 'deny', agent: 'coder' },
        { effect: 'deny', tool: 'gerp' },
      ],
    })
    const report = ({ code }: { readonly code: string }) => void reports.push(code)
    subagentTool(agent('coder'), { factory: miniAgent, model: writing(), tools: [tool('grep')], guard, report })
    await idle()
    expect(reports).toEqual(['POLICY_RULE_UNMATCHED'])
  })
})

describe('without a guard', () => {
  const reportsOf = async (options: Partial<Parameters<typeof leadHarness>[0]>) => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'save', 'look'] }), agent('b', { tools: ['save'] })],
      tools: [tool('save', { kind: 'write' }), tool('look')],
      scripts: { lead: [calling('a', 'a'), 'Done.'], a: Array(4).fill(completing()), b: [completing()] },
      ...options,
    })
    await s.run()
    return s.reports.map(({ code, message }) => `${code} ${message}`)
  }

  test('tools that change something are reported, once', async () => {
    expect(await reportsOf({})).toEqual([
      'SUBAGENT_UNGUARDED agent a: calls save without a guard, so nobody is asked; set guard, such as createPolicy().guard, or guard: (tool) => tool if this is meant',
    ])
  })

  test('tools that only read, or that ask themselves, are not; a guard ends the report', async () => {
    expect(await reportsOf({ tools: [tool('save'), tool('look')] })).toEqual([])
    const asks = tool('save', { kind: 'write', needsApproval: () => true })
    expect(await reportsOf({ tools: [asks, tool('look')] })).toEqual([])
    expect(await reportsOf({ guard: (one) => one })).toEqual([])
  })
})
