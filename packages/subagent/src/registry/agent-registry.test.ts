import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KernelError } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test, vi } from 'vitest'
import { AgentRegistry, type AgentRegistryOptions } from '../index.ts'
import { agent, calling, completing, leadHarness } from '../lead.fixture.ts'
import { loadAgents } from '../node.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'

/** A registry with agents, and what it reported. */
const registryOf = (options: Partial<AgentRegistryOptions> = {}, ...agents: readonly ReturnType<typeof agent>[]) => {
  const reports: KernelError[] = []
  const report = (error: KernelError) => void reports.push(error)
  const registry = new AgentRegistry({
    factory: miniAgent,
    model: scriptedModel([completing()], { repeat: true }),
    report,
    ...options,
  })
  for (const one of agents) registry.registerAgent(one)
  return { registry, reports }
}
const namesOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)

describe('registration (注册流程)', () => {
  test('each agent becomes one tool, in order', () => {
    const { registry, reports } = registryOf({}, agent('a'), agent('b'))
    expect([namesOf(registry.getAllDefinitions()), namesOf(registry.tools()), reports]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      [],
    ])
  })

  test('plain options can be registered, as in the walk-through of the spec', () => {
    const { registry } = registryOf()
    const input = { inputs: { task: { description: 'Task to perform', type: 'string', required: true } } } as const
    expect(
      registry.registerAgent({ name: 'my_agent', description: 'Does something useful', input, prompt: 'Help.' }),
    ).toBe(true)
    expect(registry.tools()).toMatchObject([
      {
        name: 'my_agent',
        description: 'Does something useful',
        parameters: {
          type: 'object',
          properties: { task: { type: 'string', description: 'Task to perform' } },
          required: ['task'],
        },
      },
    ])
  })

  test('the first of a name wins, with a warning', () => {
    const { registry, reports } = registryOf({}, agent('a', { description: 'first' }))
    expect(registry.registerAgent(agent('a', { description: 'second' }))).toBe(false)
    expect(registry.getDefinition('a')?.description).toBe('first')
    expect(reports).toMatchObject([{ code: 'SUBAGENT_DUPLICATE', details: { name: 'a' } }])
  })

  test('an invalid definition is CONFIG_INVALID', () => {
    expect(() => registryOf().registry.registerAgent({ name: 'x' } as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    )
  })

  test('a tool is made once', () => {
    const { registry } = registryOf({}, agent('a'))
    expect(registry.tools()[0]).toBe(registry.tools()[0])
  })

  test('enabled: false means that there are none', () => {
    const { registry } = registryOf({ enabled: false }, agent('a'))
    expect([registry.enabled, registry.getAllDefinitions(), registry.getDefinition('a'), registry.tools()]).toEqual([
      false,
      [],
      undefined,
      [],
    ])
  })
})

describe('error handling (错误处理): one that fails to wrap is reported, and the others go on', () => {
  test('an unknown model', () => {
    const { registry, reports } = registryOf({}, agent('a', { model: 'nowhere' }), agent('b'))
    expect([namesOf(registry.tools()), namesOf(registry.tools())]).toEqual([['b'], ['b']])
    expect(reports).toMatchObject([
      { code: 'CONFIG_INVALID', message: expect.stringMatching(/cannot make a tool.*agent a.*"nowhere"/) },
    ])
  })

  test('a name clash with a tool', () => {
    const { registry, reports } = registryOf({ tools: [tool('grep')] }, agent('grep'), agent('b'))
    expect(namesOf(registry.tools())).toEqual(['b'])
    expect(reports).toMatchObject([{ code: 'CONFIG_INVALID', message: expect.stringContaining('"grep"') }])
  })

  test('a report that throws breaks nothing, and the console gets its error', () => {
    const log = vi.spyOn(console, 'error').mockReturnValue()
    const report = () => {
      throw new Error('deaf')
    }
    const { registry } = registryOf({ report }, agent('a', { model: 'nowhere' }), agent('b'))
    expect(namesOf(registry.tools())).toEqual(['b'])
    expect(log).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    log.mockRestore()
  })
})

describe('allowed and excluded lists (允许/排除列表)', () => {
  test.each<[string, Partial<AgentRegistryOptions>, readonly string[]]>([
    ['neither: all', {}, ['a', 'b', 'c_1']],
    ['allowed: those alone', { allowed: ['a', 'nobody'] }, ['a']],
    ['allowed and empty: none', { allowed: [] }, []],
    ['excluded: all but those', { excluded: ['a'] }, ['b', 'c_1']],
    ['both: excluded wins', { allowed: ['a', 'b'], excluded: ['b'] }, ['a']],
    ['patterns', { allowed: ['c*', 'b'] }, ['b', 'c_1']],
  ])('%s, alike in listing, lookup and declaration', (_, options, names) => {
    const { registry } = registryOf(options, agent('a'), agent('b'), agent('c_1'))
    const declared = registry.invokeAgentTool().parameters as { properties: { agent_name: { enum?: string[] } } }
    expect({
      listed: namesOf(registry.getAllDefinitions()),
      found: ['a', 'b', 'c_1'].filter((name) => registry.getDefinition(name)),
      tools: namesOf(registry.tools()),
      declared: declared.properties.agent_name.enum ?? [],
    }).toEqual({ listed: names, found: names, tools: names, declared: names })
  })

  test('an excluded agent cannot be called by another agent either', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b'] }), agent('b')],
      excluded: ['b'],
      scripts: { lead: [calling('a'), 'Done.'], a: [calling('b'), completing()], b: [completing()] },
    })
    await s.run()
    expect([s.models.b?.requests, s.reports.map(({ code }) => code)]).toEqual([[], ['SUBAGENT_TOOLS_UNRESOLVED']])
  })
})

describe('overrides', () => {
  const base = agent('a', { tools: ['read'], limits: { maxTurns: 5, maxTokens: 100 } })
  const overriddenBy = (override: object) =>
    registryOf({ overrides: { a: override } }, base).registry.getDefinition('a')

  test.each([{}, { limits: {} }, { limits: { maxTurns: undefined } }, { model: undefined, tools: {} }])(
    '%j changes nothing',
    (override) => {
      expect(overriddenBy(override)).toBe(base)
    },
  )

  test('are merged deeply: options that are not named stay', () => {
    expect(overriddenBy({ limits: { maxTurns: 9 } })?.limits).toEqual({ maxTurns: 9, maxTokens: 100 })
    expect(overriddenBy({ description: 'Other.' })).toMatchObject({
      description: 'Other.',
      prompt: 'You are a.',
      limits: { maxTurns: 5 },
    })
  })

  test('lists are replaced; a list of tools can be given a deny', () => {
    expect(overriddenBy({ tools: ['x'] })?.tools).toEqual(['x'])
    expect(overriddenBy({ tools: { deny: ['re*'] } })?.tools).toEqual({ allow: ['read'], deny: ['re*'] })
  })

  test('a model is taken as it is', () => {
    const model = scriptedModel([])
    expect(overriddenBy({ model })?.model).toBe(model)
  })

  test('of other agents, or of names that every object has, are nothing to it', () => {
    const { registry } = registryOf({ overrides: { b: { description: 'B' } } }, base, agent('constructor'))
    expect(registry.getDefinition('a')).toBe(base)
  })

  test.each<[string, object]>([
    ['an unknown key', { prmpt: 'x' }],
    ['the input', { input: { inputs: {} } }],
    ['the name', { name: 'b' }],
  ])('%s is CONFIG_INVALID', (_, override) => {
    expect(() => overriddenBy(override)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })

  test.each<[string, object]>([
    ['an invalid limit', { limits: { maxTurns: -1 } }],
    ['a prompt with a missing name', { prompt: '${x}' }],
  ])('%s is CONFIG_INVALID when the agent is registered', (_, override) => {
    expect(() => overriddenBy(override)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})

test.each<[string, object]>([
  ['allowed that is not a list', { allowed: 'a' }],
  ['excluded with a number', { excluded: [1] }],
  ['enabled as text', { enabled: 'yes' }],
  ['overrides that are a list', { overrides: [] }],
])('%s is CONFIG_INVALID', (_, options) => {
  expect(() => registryOf(options)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})

test('loads a folder: bad files are reported with file and line, the others are there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agents-'))
  try {
    const file = (name: string, more = '') =>
      `---\nname: ${name}\ndescription: d\ninput: { inputs: {} }\n${more}---\nHelp.\n`
    await writeFile(join(folder, 'b.md'), file('b'))
    await writeFile(join(folder, 'a.md'), file('a'))
    await writeFile(join(folder, 'bad.md'), file('bad', 'toolz: []\n'))
    await writeFile(join(folder, 'over.md'), file('over'))
    await writeFile(join(folder, 'twice.md'), file('a'))
    await writeFile(join(folder, 'notes.txt'), 'no agent')
    const { registry, reports } = registryOf({ overrides: { over: { prompt: '${x}' } } })
    registry.registerLoaded(await loadAgents(folder))
    expect(namesOf(registry.getAllDefinitions())).toEqual(['a', 'b'])
    expect(reports).toMatchObject([
      { code: 'SUBAGENT_FILE_INVALID', details: { file: join(folder, 'bad.md'), line: 5 } },
      { code: 'CONFIG_INVALID' },
      { code: 'SUBAGENT_DUPLICATE' },
    ])
    registry.registerLoaded(await loadAgents(join(folder, 'nowhere')))
    expect(reports.at(-1)).toMatchObject({ code: 'SUBAGENT_FILE_INVALID' })
  } finally {
    await rm(folder, { recursive: true })
  }
})
