import { KernelError } from '@troupe/kernel'
import { createRunContext } from '@troupe/kernel/run'
import { scriptedModel } from '@troupe/testkit'
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { AgentExecutor, AgentRegistry, convertInputConfigToJsonSchema, defineAgent } from '../index.ts'
import { agent, calling, completing, type LeadOptions, leadHarness } from '../lead.fixture.ts'
import { parseAgent } from '../markdown.ts'
import { noUnhandledRejection } from '../policy/policy.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'

beforeEach(noUnhandledRejection)

const look = calling({ name: 'look' })
/** A lead that calls `a`, which gives scripted turns. */
const setting = (script: LeadOptions['scripts'][string], more: Partial<LeadOptions> = {}) =>
  leadHarness({
    agents: [agent('a', { tools: ['look'] })],
    tools: [tool('look')],
    scripts: { lead: [calling('a'), 'Done.'], a: script },
    ...more,
  })

describe('the registry', () => {
  const options = (more: object = {}) => ({ factory: miniAgent, model: scriptedModel([]), report() {}, ...more })
  const registry = (more: object, ...names: string[]) => {
    const made = new AgentRegistry(options(more))
    for (const name of names) made.registerAgent(agent(name))
    return made
  }

  test.each(['__proto__', 'constructor', 'toString', '', 'nobody'])('has no agent called %o', (name) => {
    expect(registry({}, 'a').getDefinition(name)).toBeUndefined()
  })

  test('an empty list of allowed agents allows none; excluded wins over allowed', () => {
    expect(registry({ allowed: [] }, 'a').getAllDefinitions()).toEqual([])
    const made = registry({ allowed: ['a*'], excluded: ['*b'] }, 'a', 'ab', 'c')
    expect(made.getAllDefinitions().map(({ name }) => name)).toEqual(['a'])
    expect(made.getDefinition('ab')).toBeUndefined()
    expect(made.tools().map(({ name }) => name)).toEqual(['a'])
    expect(JSON.stringify(made.invokeAgentTool().parameters)).not.toContain('ab')
  })

  test('an excluded agent cannot be invoked by name', async () => {
    const s = leadHarness({
      agents: [agent('a'), agent('b')],
      excluded: ['b'],
      invoke: true,
      scripts: {
        lead: [calling({ name: 'invoke_agent', arguments: { agent_name: 'b', task: 't' } }), 'Done.'],
        b: [completing()],
      },
    })
    const { results } = await s.run()
    expect([results[0]?.status, s.models.b?.requests.length]).toEqual(['failed', 0])
  })

  test.each<[string, object]>([
    ['an empty one', {}],
    ['empty limits', { limits: {} }],
    ['undefined values', { prompt: undefined, tools: undefined, model: undefined, limits: undefined }],
    ['empty tools', { tools: {} }],
  ])('an override that is %s changes nothing', (_, override) => {
    const given = agent('a', { tools: ['look'], limits: { maxTurns: 3 }, model: 'fast', query: 'Q ${task}' })
    const made = new AgentRegistry(options({ overrides: { a: override } }))
    made.registerAgent(given)
    const { parameters: _p, ...now } = made.getDefinition('a') as never as Record<string, unknown>
    const { parameters: _q, ...before } = given as never as Record<string, unknown>
    expect(JSON.parse(JSON.stringify(now))).toEqual(JSON.parse(JSON.stringify(before)))
  })

  test('an override with __proto__ pollutes nothing, and is refused', () => {
    const overrides = JSON.parse('{ "a": { "limits": { "__proto__": { "maxTurns": 1 } } } }')
    const made = new AgentRegistry(options({ overrides }))
    expect(() => made.registerAgent(agent('a'))).toThrow(/limits/)
    expect(({} as { maxTurns?: number }).maxTurns).toBeUndefined()
  })

  test('one definition in two registries has the tools of each', async () => {
    const shared = agent('a', { tools: ['look'] })
    const scripts = { lead: [calling('a'), 'Done.'], a: [look, completing()] }
    const first = leadHarness({ agents: [shared], tools: [tool('look', { invoke: () => 'one' })], scripts })
    const second = leadHarness({ agents: [shared], tools: [tool('look', { invoke: () => 'two' })], scripts })
    await first.run()
    await second.run()
    expect(second.models.a?.requests[1]?.messages.at(-1)?.content).toBe('two')
  })

  test('a factory that throws anything at all is a result', async () => {
    for (const thrown of [undefined, null, 'text', 0, Object.freeze({}), new Proxy({}, {})]) {
      const { statuses, end } = await setting([completing()], {
        factory() {
          throw thrown
        },
      } as never).run()
      expect([statuses, end?.outcome]).toMatchObject([[{ reason: 'error', recovered: false, turns: 0 }], 'complete'])
    }
  })
})

describe('definitions', () => {
  test('an input named __proto__ is refused; one named like a member of every object is an input', () => {
    const inputs = (name: string) =>
      JSON.parse(`{ "${name}": { "type": "string", "description": "d", "required": true } }`)
    expect(() => convertInputConfigToJsonSchema({ inputs: inputs('__proto__') })).toThrow(/__proto__/)
    const schema = convertInputConfigToJsonSchema({ inputs: inputs('constructor') })
    expect([Object.keys(schema.properties as object), schema.required]).toEqual([['constructor'], ['constructor']])
  })

  test.each<[string, string]>([
    ['$$${task}', '$${task}'],
    ['$${task} ${task}', '${task} X'],
    ['${task}${task}', 'XX'],
    ['$ {task}', '$ {task}'],
    ['\\${task}', '\\X'],
  ])('the template %s', async (prompt, expected) => {
    const model = scriptedModel([completing()])
    const ctx = createRunContext().derive({ call: { callId: 'c', onAction() {}, onInterrupt() {} } })
    await new AgentExecutor(agent('a', { prompt }), { factory: miniAgent, model }).run({ task: 'X' }, ctx)
    expect(model.requests[0]?.instruction?.split('\n\n')[0]).toBe(expected)
  })

  test.each<[string, object]>([
    ['no turns', { maxTurns: 0 }],
    ['half a turn', { maxTurns: 1.5 }],
    ['turns below zero', { maxTurns: -1 }],
    ['turns that are not a number', { maxTurns: Number.NaN }],
    ['a text', { timeoutMs: '5' }],
    ['null', { maxTokens: null }],
    ['an unknown one', { maxSteps: 3 }],
    ['no depth', { maxDepth: 0 }],
  ])('a limit that is %s is CONFIG_INVALID', (_, limits) => {
    expect(() => agent('a', { limits: limits as never })).toThrow(KernelError)
  })

  test('an output schema that takes its time is waited for, and fed back', async () => {
    const output = z.object({ n: z.number() }).refine(async ({ n }) => n > 1)
    const hand = (n: number) => calling({ name: 'complete_task', arguments: { n } })
    const s = leadHarness({
      agents: [agent('a', { output })],
      scripts: { lead: [calling('a'), 'Done.'], a: [hand(1), hand(2)] },
    })
    expect((await s.run()).statuses).toMatchObject([{ reason: 'goal', output: { n: 2 }, turns: 2 }])
  })

  test('a definition does not change with the options it was made from', () => {
    const allow = ['look']
    const limits = { maxTurns: 3 }
    const inputs = { task: { type: 'string' as const, description: 'd', required: true } }
    const made = defineAgent({ name: 'a', description: 'd', input: { inputs }, prompt: 'p', tools: { allow }, limits })
    allow.push('shell')
    limits.maxTurns = 99
    Object.assign(inputs, { more: { type: 'string', description: 'd', required: true } })
    expect([made.tools, made.limits, JSON.stringify(made.parameters)]).toEqual([
      expect.not.objectContaining({ allow: expect.arrayContaining(['shell']) }),
      { maxTurns: 3 },
      expect.not.stringContaining('more'),
    ])
  })
})

describe('Markdown', () => {
  const file = (lines: string, body = 'Help.') => `---\nname: x\ndescription: d\n${lines}\n---\n${body}\n`
  const input = 'input: { inputs: { a: { type: string, description: d } } }'
  test.each<[string, string, number]>([
    ['a key that every object has', file(`${input}\n__proto__: { name: y }`), 5],
    ['a merge key', file(`${input}\n<<: { model: m }`), 5],
    ['a name that is a number', `---\nname: 12\ndescription: d\n${input}\n---\nHelp.`, 2],
    ['a name that is a list', `---\nname: [x]\ndescription: d\n${input}\n---\nHelp.`, 2],
    ['a limit below zero', file(`${input}\nlimits:\n  timeoutMs: 5\n  maxTurns: -1`), 7],
    ['a deny that is not a list', file(`${input}\ntools:\n  allow: [a]\n  deny: b`), 7],
    ['a reserved name', `---\n\nname: complete_task\ndescription: d\n${input}\n---\nHelp.`, 3],
    ['two documents', file(`${input}\n...\nmodel: m`), 6],
    ['a tab', file(`${input}\nlimits:\n\tmaxTurns: 3`), 6],
    ['an unfinished template deep in the text', file(input, 'One.\n\nTwo.\n${a'), 9],
    ['a missing name on the third line', file(input, 'One.\nTwo.\n${b}'), 8],
    ['a null', file(`${input}\nmodel:`), 5],
  ])('%s is refused where it stands', (_, text, line) => {
    try {
      expect.fail(JSON.stringify(parseAgent(text, 'x.md')))
    } catch (error) {
      expect([(error as KernelError).code, (error as KernelError).details]).toEqual([
        'SUBAGENT_FILE_INVALID',
        { file: 'x.md', line },
      ])
    }
  })
})
