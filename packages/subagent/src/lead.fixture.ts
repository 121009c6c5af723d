import type { AgentEvent, Answers, EventOf, Json, KernelError, Message, UserMessage } from '@troupe/kernel'
import { messageOf } from '@troupe/kernel/history'
import { type RunHost, type RunSettings, startRun } from '@troupe/kernel/run'
import {
  type FakeClock,
  fakeClock,
  type Recording,
  record,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedTurn,
  scriptedModel,
} from '@troupe/testkit'
import type { AgentDefinition, AgentOptions, AgentRegistryOptions, SubagentStatus } from './index.ts'
import { AgentRegistry, defineAgent } from './index.ts'
import { miniAgent } from './subagent.fixture.ts'

type Script = Parameters<typeof scriptedModel>[0]

/** The recording of one run. */
export interface RunRecording extends Recording {
  /** The results of the lead's calls. */
  readonly results: readonly EventOf<'tool-end'>[]
  readonly statuses: readonly SubagentStatus[]
  /** Ids of the questions that are open. */
  readonly asked: readonly string[]
}

/** A lead that calls agents, one scripted model for each by name. */
export interface LeadHarness {
  readonly models: { readonly [name: string]: ScriptedModel }
  readonly reports: readonly KernelError[]
  readonly clock: FakeClock
  readonly registry: AgentRegistry
  run(settings?: RunSettings & Pick<RunHost, 'cancelling'>): Promise<RunRecording>
  /** Resumes as another process does: with new agents and the saved state as JSON. */
  resume(answers: Answers): Promise<RunRecording>
}

export interface LeadOptions extends Partial<AgentRegistryOptions> {
  readonly agents: readonly AgentDefinition[]
  /** The models' turns by the name of the agent; the lead's is `lead`. */
  readonly scripts: { readonly [name: string]: Script }
  /** Whether the lead has one tool for all agents. @default false */
  readonly invoke?: boolean
}

const user: UserMessage = { id: 'u1', role: 'user', content: 'Go.' }

export function leadHarness({ agents, scripts, invoke = false, ...options }: LeadOptions): LeadHarness {
  const models = Object.fromEntries(
    Object.entries(scripts).map(([name, script]) => [name, scriptedModel(script, { name })]),
  )
  const reports: KernelError[] = []
  const clock = fakeClock()
  let history: readonly Message[] = [user]
  let state: Json = null
  let runs = 0
  const build = () => {
    const registry = new AgentRegistry({
      factory: (spec) => miniAgent({ ...spec, model: models[spec.name] ?? spec.model }),
      model: scriptedModel(['unused']),
      report: (error) => void reports.push(error),
      ...options,
    })
    for (const agent of agents) registry.registerAgent(agent)
    const tools = invoke ? [registry.invokeAgentTool()] : registry.tools()
    const lead = miniAgent({
      name: 'lead',
      description: '',
      instruction: '',
      model: models.lead ?? scriptedModel(['Done.']),
      tools: tools.map((tool) => ({ tool, returnDirectly: false })),
      handlers: [],
      maxIterations: 100,
    })
    return { registry, lead }
  }
  let current = build()
  const runOnce = async (
    start: Parameters<typeof startRun>[1],
    { cancelling, ...settings }: RunSettings & Pick<RunHost, 'cancelling'>,
  ): Promise<RunRecording> => {
    const given = { runId: `R${++runs}`, canInterrupt: true, clock, ...settings }
    const run = startRun(current.lead, start, given, cancelling && { cancelling })
    const recording = await record(run)
    const own = recording.events.filter(({ parentCallId }) => parentCallId === undefined)
    history = history.concat(own.flatMap((event) => messageOf(event) ?? []))
    for (const event of own)
      if (event.type === 'action' && event.action.type === 'interrupt') state = event.action.state ?? null
    const results = own.filter((event): event is EventOf<'tool-end'> => event.type === 'tool-end')
    return {
      ...recording,
      results,
      statuses: results.flatMap(({ data }) => (data ? [data as unknown as SubagentStatus] : [])),
      asked: (recording.end?.interrupts ?? []).map(({ id }) => id),
    }
  }
  return {
    models,
    reports,
    clock,
    get registry() {
      return current.registry
    },
    run: (settings = {}) => runOnce({ messages: history }, settings),
    resume(answers) {
      current = build()
      const kept = JSON.parse(JSON.stringify({ history, state }))
      return runOnce({ messages: kept.history, state: kept.state, answers }, {})
    },
  }
}

/** Defines an agent with one text as input. */
export const agent = (name: string, more: Partial<AgentOptions> = {}): AgentDefinition =>
  defineAgent({
    name,
    description: `${name} helps.`,
    input: { inputs: { task: { type: 'string', description: 'What to do', required: true } } },
    prompt: `You are ${name}.`,
    ...more,
  } as AgentOptions)

/** A turn of calls: of agents by name with a task, of other tools as they are given. */
export const calling = (...calls: readonly (string | ScriptedCall)[]): Exclude<ScriptedTurn, string> => ({
  toolCalls: calls.map((call) =>
    typeof call === 'string' ? { name: call, arguments: { task: `Do ${call}.` } } : call,
  ),
})

/** A turn that submits a result. */
export const completing = (result: Json = 'Found it.'): Exclude<ScriptedTurn, string> =>
  calling({ name: 'complete_task', arguments: { result } })

/** The events of one agent. */
export const eventsOf = (events: readonly AgentEvent[], agentName: string): readonly AgentEvent[] =>
  events.filter((event) => event.agentName === agentName)
