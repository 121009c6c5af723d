import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel, testOptions } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import {
  type AgentLimits,
  type AgentOptions,
  type AgentOverride,
  AgentRegistry,
  type AgentRegistryOptions,
  type BusOptions,
  createBus,
  createPolicy,
  defineAgent,
  type PolicyOptions,
  type PolicyRule,
  type SubagentEnvironment,
  subagentTool,
} from './index.ts'
import { miniAgent } from './subagent.fixture.ts'

const model = scriptedModel(['Hi.'])
const limits: Required<AgentLimits> = {
  maxTurns: 1,
  timeoutMs: 1,
  maxTokens: 1,
  maxToolCalls: 1,
  maxDepth: 1,
  graceMs: 1,
}
const input = { inputs: { task: { type: 'string', description: 'd', required: true } } } as const
const definition: Required<AgentOptions> = {
  name: 'finder',
  displayName: 'Finder',
  description: 'Finds.',
  input,
  output: { type: 'object' },
  prompt: 'Find ${task}.',
  query: 'Begin.',
  model,
  tools: [],
  limits,
}
const { name: _, input: _in, output: _out, ...override } = definition
const { agents: _none, ...shared }: Required<SubagentEnvironment> = {
  factory: miniAgent,
  model,
  models: { fast: model },
  tools: [],
  agents: [],
  guard: (tool) => tool,
  limits,
  forward: true,
  report: () => {},
}
const registry: Required<AgentRegistryOptions> = {
  ...shared,
  enabled: true,
  allowed: ['*'],
  excluded: [],
  overrides: {},
}
const policy: Required<PolicyOptions> = { rules: [], bus: createBus(), grants: memoryStore().grants, askTimeoutMs: 1 }
const rule: Required<PolicyRule> = {
  effect: 'deny',
  agent: 'a',
  tool: 't',
  kind: 'read',
  args: { path: { glob: '*' } },
  reason: 'r',
}
const define = (more: object) => defineAgent({ ...definition, ...more } as AgentOptions)

testOptions<AgentOptions>('defineAgent', defineAgent, definition)
testOptions('its limits', (some: AgentLimits) => define({ limits: some }), limits)
testOptions('its input', (some: object) => define({ input: some }), input)
testOptions('a parameter', (task: object) => define({ input: { inputs: { task } } }), input.inputs.task)
testOptions('its tools', (tools: object) => define({ tools }), { allow: [], deny: [] })
testOptions<AgentRegistryOptions>('AgentRegistry', (options) => new AgentRegistry(options), registry)
testOptions(
  'an override',
  (finder: AgentOverride) => new AgentRegistry({ ...shared, overrides: { finder } }),
  override as Required<AgentOverride>,
)
testOptions<SubagentEnvironment>('subagentTool', (environment) => subagentTool(defineAgent(definition), environment), {
  ...shared,
  agents: [],
})
testOptions<PolicyOptions>('createPolicy', createPolicy, policy)
testOptions('a rule', (one: PolicyRule) => createPolicy({ rules: [one] }), rule)
testOptions<BusOptions>('createBus', createBus, { report: () => {} })

describe('a model of the AI SDK is refused with the way to adapt it', () => {
  const foreign = { specificationVersion: 'v4', doStream() {} } as never
  const wrap = 'is an AI SDK model; wrap it: aiSdkModel(model) from @troupe/model-ai-sdk'
  test.each<[() => unknown, string]>([
    [() => define({ model: foreign }), `agent finder: model ${wrap}`],
    [() => new AgentRegistry({ ...shared, model: foreign }), `subagents: model ${wrap}`],
    [() => new AgentRegistry({ ...shared, models: { fast: foreign } }), `subagents: models.fast ${wrap}`],
    [
      () => new AgentRegistry({ ...shared, models: { fast: 'gpt-5' as never } }),
      'models.fast is a ChatModel and not its name',
    ],
  ])('%s', (work, message) => {
    expect(work).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }))
  })
})

test('an agent is named where an option of it is wrong', () => {
  expect(() => define({ promt: 'Help.' })).toThrow('agent finder: unknown option promt; did you mean prompt?')
})
