import { chatModelAgent } from '@troupe/chat-model'
import { defineTool, type Tool } from '@troupe/kernel'
import { nextMacrotask, untilAborted } from '@troupe/kernel/kit'
import { startRun } from '@troupe/kernel/run'
import { createBus, createPolicy, defineAgent, type SubagentEnvironment, subagentTool } from '@troupe/subagent'
import { fakeClock, record, type ScriptedTurn, scriptedModel, tape, testReplay } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

type Script = { readonly [step: string]: ScriptedTurn | (() => ScriptedTurn) }
type Call = string | { readonly name: string; readonly arguments?: { readonly [key: string]: string } }

const calling = (...calls: readonly Call[]): ScriptedTurn => ({
  toolCalls: calls.map((call) => (typeof call === 'string' ? { name: call } : call)),
})
const completing = (result = 'Done.') => calling({ name: 'complete_task', arguments: { result } })
const toolOf = (name: string, options: Partial<Tool> = {}): Tool => ({
  ...defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    kind: 'read',
    invoke: () => `${name} done`,
  }),
  ...options,
})

interface Setting {
  readonly scripts: { readonly [agent: string]: Script }
  readonly tools?: readonly Tool[]
  readonly agents: { readonly [name: string]: { readonly tools: readonly string[]; readonly limits?: object } }
  readonly environment?: Partial<SubagentEnvironment>
}

/** A lead with a sub-agent `a` that may call others, all made anew. */
const office = ({ scripts, tools = [toolOf('look')], agents, environment }: Setting) => {
  const models = Object.fromEntries(Object.entries(scripts).map(([name, script]) => [name, scriptedModel(script)]))
  const definitions = Object.entries(agents).map(([name, { tools, limits }]) =>
    defineAgent({
      name,
      description: name,
      prompt: 'Work.',
      query: 'Go.',
      input: z.object({}),
      model: name,
      tools: [...tools],
      ...(limits && { limits }),
    }),
  )
  const env: SubagentEnvironment = { factory: chatModelAgent, models, tools, agents: definitions, ...environment }
  const [first] = definitions
  if (!first) throw new Error('there is no agent')
  const { lead } = models
  if (!lead) throw new Error('there is no lead')
  return chatModelAgent({ name: 'lead', model: lead, tools: [subagentTool(first, env)] })
}

const lead: Script = { 'model:0': calling('a'), 'model:1': 'Done.' }

testReplay('the tool calls of a sub-agent, up to its limit', () =>
  office({
    scripts: {
      lead,
      a: {
        'model:0': calling('look'),
        'model:1': calling('look', 'look', 'look'),
        'model:2': completing(),
        'model:3': completing(),
      },
    },
    agents: { a: { tools: ['look'], limits: { maxToolCalls: 3 } } },
  }),
)

testReplay('calls of agents below, which count too', () =>
  office({
    scripts: {
      lead,
      a: { 'model:0': calling('look', 'b', 'look'), 'model:1': completing(), 'model:2': completing() },
      b: { 'model:0': calling('look', 'look', 'look'), 'model:1': completing(), 'model:2': completing() },
    },
    agents: { a: { tools: ['look', 'b'], limits: { maxToolCalls: 5 } }, b: { tools: ['look'] } },
  }),
)

testReplay('a sub-agent that is refused beside calls that were made', () =>
  office({
    scripts: {
      lead,
      a: { 'model:0': calling('look', 'look', 'b'), 'model:1': completing(), 'model:2': completing() },
      b: { 'model:0': completing() },
    },
    agents: { a: { tools: ['look', 'b'], limits: { maxToolCalls: 2 } }, b: { tools: [] } },
  }),
)

testReplay('unknown tools and tools that fail', () =>
  office({
    scripts: {
      lead,
      a: {
        'model:0': calling('ghost', 'fail'),
        'model:1': calling('look', 'look'),
        'model:2': completing(),
        'model:3': completing(),
      },
    },
    tools: [toolOf('look'), toolOf('fail', { invoke: () => Promise.reject(new Error('no')) })],
    agents: { a: { tools: ['look', 'fail'], limits: { maxToolCalls: 2 } } },
  }),
)

testReplay('a result that is handed in over two turns', () =>
  office({
    scripts: { lead, a: { 'model:0': calling('look', { name: 'complete_task', arguments: { result: 'First.' } }) } },
    agents: { a: { tools: ['look'] } },
  }),
)

testReplay('the limit of turns, and the turn of grace after it', () =>
  office({
    scripts: { lead, a: { 'model:0': calling('look'), 'model:1': calling('look'), 'model:2': completing() } },
    agents: { a: { tools: ['look'], limits: { maxTurns: 2 } } },
  }),
)

/** An office in which a listener answers for every call, of tools and of agents. */
const asking = (approved: boolean, asked: string[] = []) => {
  const bus = createBus()
  bus.on('approval', ({ tool }) => {
    asked.push(tool)
    return { approved }
  })
  return office({
    scripts: { lead, a: { 'model:0': calling('look', 'b'), 'model:1': completing() }, b: { 'model:0': completing() } },
    tools: [toolOf('look', { needsApproval: () => true })],
    agents: { a: { tools: ['look', 'b'] }, b: { tools: [] } },
    environment: { guard: createPolicy({ bus, rules: [{ effect: 'ask', tool: 'b' }] }).guard },
  })
}

describe.each([true, false])('approvals by a listener, in a run that can wait: %s', (canInterrupt) => {
  testReplay('the run', () => asking(true), { settings: { canInterrupt } })

  test('are not asked for again in a replay', async () => {
    const asked: string[] = []
    const on = tape()
    const settings = { runId: 'r', canInterrupt, clock: fakeClock() }
    const first = await record(startRun(asking(true, asked), 'Hi', { ...settings, prepare: on.prepare }))
    expect([first.end?.outcome, asked.toSorted()]).toEqual(['complete', ['b', 'look']])
    const again = tape(JSON.parse(JSON.stringify(on)), { live: false })
    const replay = await record(startRun(asking(false, asked), 'Hi', { ...settings, prepare: again.prepare }))
    const lines = [first, replay].map((one) => one.lines.toSorted())
    expect([lines[1], asked.length, again.unused]).toEqual([lines[0], 2, []])
  })
})

testReplay(
  'approvals by answers',
  () =>
    office({
      scripts: {
        lead,
        a: { 'model:0': calling('look', 'b'), 'model:1': completing() },
        b: { 'model:0': completing() },
      },
      agents: { a: { tools: ['look', 'b'] }, b: { tools: [] } },
      environment: { guard: createPolicy({ rules: [{ effect: 'ask', tool: '*' }] }).guard },
    }),
  { answer: (interrupts) => Object.fromEntries(interrupts.map(({ id }) => [id, { approved: true }])) },
)

describe('time', () => {
  const clock = fakeClock()
  const settings = { clock }
  const limits = { timeoutMs: 30, graceMs: 5_000 }
  /** Lets the time of an agent run out as soon as everybody waits. */
  const timeIsOver = () => void nextMacrotask().then(() => clock.advance(30))
  const hanging = () => {
    timeIsOver()
    return { text: 'I thi', hang: 'mid' } as const
  }

  testReplay(
    'the time of a sub-agent is over, and its turn of grace follows',
    () =>
      office({
        scripts: { lead, a: { 'model:0': calling('look'), 'model:1': hanging } },
        agents: { a: { tools: ['look'], limits } },
      }),
    { settings },
  )

  testReplay(
    'the time of a sub-agent is over in one of its calls',
    () =>
      office({
        scripts: { lead, a: { 'model:0': calling('wait', 'look') } },
        tools: [
          toolOf('look'),
          toolOf('wait', {
            invoke: (_args, ctx) => {
              timeIsOver()
              return untilAborted(ctx.signal, new Promise<never>(() => undefined))
            },
          }),
        ],
        agents: { a: { tools: ['wait', 'look'], limits } },
      }),
    { settings },
  )

  testReplay(
    'the time of an agent is over while another one works for it',
    () =>
      office({
        scripts: { lead, a: { 'model:0': calling('b', 'look') }, b: { 'model:0': hanging } },
        agents: { a: { tools: ['b', 'look'], limits }, b: { tools: [] } },
      }),
    { settings },
  )
})
